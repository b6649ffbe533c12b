"""Whether this process takes requests: its readiness checks, and whether it is draining."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Checks: TypeAlias = Mapping[str, Callable[[], bool]]


@dataclass(slots=True)
class Readiness:
    """Readiness checks by name. Each reads known state, so that asking costs nothing.

    Args:
        required: if one fails, no request should come here.
        optional: if one fails, the service is degraded but serves.
        refused: name -> why a model cannot be served.
    """

    required: Checks = field(default_factory=dict)
    optional: Checks = field(default_factory=dict)
    refused: Callable[[], Mapping[str, str]] = dict

    def results(self) -> dict[str, bool]:
        """Result of every check, by its name."""
        return {name: check() for name, check in (*self.required.items(), *self.optional.items())}

    def is_ready(self) -> bool:
        """Whether requests should come here."""
        return all(check() for check in self.required.values())

    def is_degraded(self) -> bool:
        """Whether any check fails."""
        return not all(self.results().values())


class Draining:
    """Whether the process is shutting down, and rejects requests; set by the server."""

    def __init__(self) -> None:
        self.begun = False  # it is not ready any more, and closes connections after their response
        self.refuses = False  # later, once load balancers had time to notice
        self.failed = False  # the process ends because of a failure, and its supervisor should restart it

    def fail(self) -> None:
        """End this process as SIGTERM does, but with an exit code for failure. Thread-safe."""
        if self.failed:  # several threads notice a lost device, and a second signal would cut off running requests
            return
        self.failed = True
        signal.raise_signal(signal.SIGTERM)  # os.kill would end the process at once on Windows
