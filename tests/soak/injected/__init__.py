"""Faults that are done to a deployment while requests go on."""
