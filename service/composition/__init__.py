"""Composition root: opens the stores and connects the use cases."""
