"""Time that a test moves."""

from __future__ import annotations


class Clock:
    """Stands still unless moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now
