"""The papers' ways to train an encoder, one recipe a file."""
