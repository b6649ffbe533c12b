"""Ports: the interfaces that adapters implement for the use cases."""
