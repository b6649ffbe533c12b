"""Shared parts of the measures: alignments, transport plans, fuzzy sets, batched scoring."""
