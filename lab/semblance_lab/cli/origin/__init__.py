"""`semblance origin`: sentence similarity from contexts, learned from plain text."""
