"""Sentence similarity and semantic search that show which words made the score."""
