"""How good searches are: what is found, and what is shown of it."""
