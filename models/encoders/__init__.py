"""The encoders, one a file: what turns tokens into vectors."""
