"""Weightings and projections of any encoder."""
