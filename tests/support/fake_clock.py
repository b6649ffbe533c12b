"""A clock under the control of a test."""

from __future__ import annotations


class FakeClock:
    """Returns `now`, which only the test changes."""

    now = 0.0

    def __call__(self) -> float:
        return self.now
