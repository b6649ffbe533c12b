"""Batches: independent tasks, such as files to encode, run by this process or by Ray."""
