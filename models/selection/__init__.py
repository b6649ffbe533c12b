"""Choice of the sentences of texts that carry the score of a query."""
