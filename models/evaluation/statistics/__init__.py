"""Statistics of evaluations, with their intervals."""
