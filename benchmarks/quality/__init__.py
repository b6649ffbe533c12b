"""Benchmarks of quality: recall, claims of papers, length of the request path."""
