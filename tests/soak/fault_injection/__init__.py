"""Faults that are injected into a deployment under load."""
