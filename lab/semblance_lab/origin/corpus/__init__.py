"""Corpora of running text: sentences in order, their tokens, and a search by bigrams."""
