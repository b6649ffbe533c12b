"""Formats of model files: how to read and load them, one per module."""
