"""Readers and writers, a ledger of acknowledged writes, and checks of every answer."""
