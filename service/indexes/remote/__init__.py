"""Indexes on a server of their own."""
