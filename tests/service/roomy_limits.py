"""Limits for tests of how texts share a pass."""

from __future__ import annotations

from service.batching.policy import Limits


def roomy(batch_tokens: int, window: int = 1024) -> Limits:
    """Limits that only the size of a pass can reach."""
    return Limits(batch_tokens, request_tokens=10**6, queued_tokens=10**6, window=window)
