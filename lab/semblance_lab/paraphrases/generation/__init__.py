"""Pairs of sentences that say the same or differ in one thing, made from corpora."""
