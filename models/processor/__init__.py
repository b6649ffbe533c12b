"""Capabilities of the processor: cores that may be used, its fastest number type."""
