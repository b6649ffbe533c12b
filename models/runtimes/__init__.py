"""Runtimes (models/runtime.py): the libraries that run networks, one per module."""
