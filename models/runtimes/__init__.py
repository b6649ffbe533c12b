"""What runs networks, one a file, found by name."""
