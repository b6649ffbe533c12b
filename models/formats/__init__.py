"""The kinds of model files, one a file: what they say, and how to load them."""
