"""Which models are served, and how they are loaded."""
