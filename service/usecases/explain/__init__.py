"""Explain the score of two texts, and the difference between two scores."""
