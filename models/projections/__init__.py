"""Projections, one per module: maps fitted to the vectors of many texts."""
