"""One file a path."""
