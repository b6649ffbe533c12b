"""Weakly similar pairs of sentences from conversations: tweets and their answers."""
