"""Ports of the primary: the database that holds the documents of several replicas."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol

from semblance.service.ports.documents import DocumentStore


class Notices(Protocol):
    """Notifications of writes to the primary. Some may be missed, so a replica also polls."""

    def wait(self, longest_s: float, stop: threading.Event) -> None:
        """Return at the next notification, after `longest_s`, or when `stop` is set."""

    def close(self) -> None:
        """Close the connection."""


class StoreHealth(Protocol):
    """Connection health of the primary."""

    @property
    def healthy(self) -> bool:
        """Whether the last query was answered, and no running one exceeds the timeout."""

    @property
    def seconds_since_answer(self) -> float:
        """Seconds since the last answer, or since the start."""


@dataclass(frozen=True, slots=True)
class Primary:
    """The database with the documents, its health, and its notifications of writes."""

    store: DocumentStore
    health: StoreHealth
    notices: Notices


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Limits in seconds: of a write, between polls, until a version arrives, of the lag."""

    write_s: float
    poll_s: float
    version_s: float
    lag_s: float
