"""Batch the texts of concurrent requests: policy, queue, model thread."""
