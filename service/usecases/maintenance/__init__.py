"""Backups, and checks of what is stored."""
