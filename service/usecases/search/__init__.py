"""Search: find the documents of a collection that are most similar to a query."""
