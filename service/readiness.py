"""Whether requests should come to this process. It only reads what is known; it tries nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping


class Readiness:
    """Named checks, all of which must hold. Before the first are given, the process is starting: not ready."""

    def __init__(self) -> None:
        self._checks: Mapping[str, Callable[[], bool]] = {"started": lambda: False}

    def decide_by(self, checks: Mapping[str, Callable[[], bool]]) -> None:
        """From now on these decide."""
        self._checks = dict(checks)

    def checks(self) -> dict[str, bool]:
        """Each check and whether it holds."""
        return {name: check() for name, check in self._checks.items()}
