"""Pairs of sentences that Origin scores, for a surrogate to learn from."""
