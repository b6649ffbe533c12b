"""Encoders and similarity measures: pure and synchronous, without HTTP, SQL or settings."""
