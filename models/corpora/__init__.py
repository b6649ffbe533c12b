"""Weak pairs of sentences that people made without meaning to: tweets and what answers them."""
