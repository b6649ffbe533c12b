"""Safe reading and writing of files; independent of models."""
