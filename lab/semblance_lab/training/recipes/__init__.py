"""Training recipes of the papers, one per file."""
