"""How fast, and how much memory; one question a file."""
