"""From a text to its tokens."""
