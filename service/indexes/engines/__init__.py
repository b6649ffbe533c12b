"""Engines that search rows of vectors, one a file, found by name."""
