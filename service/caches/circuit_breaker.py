"""Stop calling a failing server for a while."""

from __future__ import annotations

from collections.abc import Callable


class CircuitBreaker:
    """Rejects calls for `rest_s` after `failures` in a row, then admits one probe.

    An admitted call ends with `succeeded`, with `failed`, or with neither if it is cancelled. Admitting a probe extends
    the rest by `rest_s`, so that the next probe follows then even if this one never ends.
    """

    def __init__(self, failures: int, rest_s: float, clock: Callable[[], float]) -> None:
        self._max_failures = failures
        self._rest_s = rest_s
        self._clock = clock
        self._failures = 0
        self._open_until: float | None = None

    @property
    def resting(self) -> bool:
        """Whether a call would be rejected now."""
        return self._open_until is not None and self._clock() < self._open_until

    def admits(self) -> bool:
        """Whether to call now. After a rest, the first call admitted is the probe."""
        if self.resting:
            return False
        if self._open_until is not None:
            self._open_until = self._clock() + self._rest_s
        return True

    def succeeded(self) -> bool:
        """Close the circuit; returns whether it was open."""
        was_open = self._open_until is not None
        self._failures, self._open_until = 0, None
        return was_open

    def failed(self) -> bool:
        """Count a failure; returns whether it opened the circuit."""
        if self._open_until is not None:
            return False
        self._failures += 1
        if self._failures < self._max_failures:
            return False
        self._open_until = self._clock() + self._rest_s
        return True
