"""Similarity measures, one per file, named as in their papers."""
