"""Similarity from contexts: which sentences fit the same places in running text."""
