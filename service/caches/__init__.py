"""Where embeddings are remembered, one kind a file."""
