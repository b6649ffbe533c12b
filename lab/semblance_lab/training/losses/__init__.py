"""Losses of a batch of texts: of its objective, with cached gradients, and of kept vectors."""
