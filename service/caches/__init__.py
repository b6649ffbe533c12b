"""Caches of embeddings: in memory, and in a shared Redis."""
