"""When to leave a failing server alone."""

from __future__ import annotations

from collections.abc import Callable


class CircuitBreaker:
    """Closed while calls go well. After `failures` in a row it is open: no calls for `rest_s`, then one that probes.

    A call that was admitted ends with `succeeded`, with `failed`, or with neither if its caller left. The probe moves
    the end of the rest when it is admitted: however it ends, or if it never does, the next one comes `rest_s` later.
    """

    def __init__(self, failures: int, rest_s: float, clock: Callable[[], float]) -> None:
        self._most = failures
        self._rest_s = rest_s
        self._clock = clock
        self._failures = 0
        self._rests_until: float | None = None

    @property
    def resting(self) -> bool:
        """Whether a call would be refused now."""
        return self._rests_until is not None and self._clock() < self._rests_until

    def admits(self) -> bool:
        """Whether to call now. While the circuit is open, the one that hears yes is the probe."""
        if self.resting:
            return False
        if self._rests_until is not None:
            self._rests_until = self._clock() + self._rest_s
        return True

    def succeeded(self) -> bool:
        """Note an answer, which closes the circuit; whether it was open."""
        was_open = self._rests_until is not None
        self._failures, self._rests_until = 0, None
        return was_open

    def failed(self) -> bool:
        """Note a failure; whether it opened the circuit."""
        if self._rests_until is not None:
            return False
        self._failures += 1
        if self._failures < self._most:
            return False
        self._rests_until = self._clock() + self._rest_s
        return True
