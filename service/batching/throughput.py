"""How fast the model is, as far as its passes tell."""

from __future__ import annotations

MEMORY = 0.9  # what a pass counts for after the next one: about the last ten tell


class Speed:
    """Tokens a second, each pass weighted by its tokens: what a full queue is worked off with.

    A pass of one short text takes nearly as long as one of ten, and tells little about passes of thousands of tokens.

    >>> speed = Speed()
    >>> speed.tokens_per_s is None
    True
    >>> for _ in range(10):
    ...     speed.passed(tokens=3, seconds=0.01)
    >>> speed.passed(tokens=4000, seconds=1.0)
    >>> round(speed.tokens_per_s)
    4000
    """

    def __init__(self) -> None:
        self._tokens = self._seconds = 0.0  # weighted sums

    def passed(self, tokens: int, seconds: float) -> None:
        """A pass of so many tokens took so long."""
        self._tokens = MEMORY * self._tokens + tokens * tokens
        self._seconds = MEMORY * self._seconds + tokens * seconds

    @property
    def tokens_per_s(self) -> float | None:
        """The rate; None before the first pass."""
        return self._tokens / self._seconds if self._seconds else None
