"""Similarity from scores in contexts, and its explanation (Eq. 3 and 4)."""
