"""`semblance train`."""
