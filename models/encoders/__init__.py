"""Encoders: tokens to vectors, one per module."""
