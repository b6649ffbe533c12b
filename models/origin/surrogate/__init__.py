"""What a surrogate starts from."""
