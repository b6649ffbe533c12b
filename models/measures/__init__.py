"""What the measures share: alignments, transport plans, fuzzy sets."""
