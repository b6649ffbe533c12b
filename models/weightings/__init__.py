"""Weightings, one per module: how much each token counts in a mean."""
