"""Whether texts say the same."""
