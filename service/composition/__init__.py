"""Opens and closes the stores."""
