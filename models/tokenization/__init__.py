"""Tokenizers of words and subwords."""
