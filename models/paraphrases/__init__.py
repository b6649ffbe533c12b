"""Whether two texts say the same, and the words that speak against it."""
