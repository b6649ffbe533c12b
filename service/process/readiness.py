"""Whether requests should come to this process: what decides it, and who asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Checks: TypeAlias = Mapping[str, Callable[[], bool]]


@dataclass(slots=True)
class Readiness:
    """Each check reads what is known already, and so costs nothing.

    Args:
        needed: without any of these, no request should come here.
        wanted: without these, what is here is served all the same.
    """

    needed: Checks = field(default_factory=dict)
    wanted: Checks = field(default_factory=dict)

    def checks(self) -> dict[str, bool]:
        """What every check says, by its name."""
        return {name: check() for name, check in (*self.needed.items(), *self.wanted.items())}

    def holds(self) -> bool:
        """Whether requests should come here."""
        return all(check() for check in self.needed.values())

    def whole(self) -> bool:
        """Whether nothing is amiss at all."""
        return all(self.checks().values())
