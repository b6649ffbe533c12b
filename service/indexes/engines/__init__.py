"""Index engines, one a file, found by name."""
