"""Ports: what the use cases need from adapters."""
