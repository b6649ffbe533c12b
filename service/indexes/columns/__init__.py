"""Columns of an index: mapped from a snapshot up to its last row, in memory after it."""
