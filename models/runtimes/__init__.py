"""Libraries that a network runs on, one a file."""
