"""Train encoders, learn similarity by Origin, mine pairs, and evaluate measures."""
