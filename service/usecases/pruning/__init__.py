"""Sentences of documents that carry the score of a query, and what was dropped."""
