"""Similarity from contexts: two sentences are alike when the same places in running text would take either."""
