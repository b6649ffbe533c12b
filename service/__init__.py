"""The product: an HTTP service over `models`."""
