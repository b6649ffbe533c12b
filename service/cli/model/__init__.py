"""Verbs about models."""
