"""How good: recall of indexes, candidates, claims of papers."""
