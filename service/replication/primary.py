"""The database that holds the documents of several replicas, as one of them deals with it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol

from semblance.service.ports.documents import DocumentStore


class Notices(Protocol):
    """Tells that something was written to the truth. It may miss writes: whoever waits looks again by himself."""

    def wait(self, longest_s: float, stop: threading.Event) -> None:
        """Return at the next notice, after `longest_s`, or when `stop` is set, whichever is first."""

    def close(self) -> None:
        """Release the connection."""


class StoreContact(Protocol):
    """Whether the truth answers."""

    @property
    def holds(self) -> bool:
        """Whether the last question was answered, and none waits too long."""

    @property
    def seconds_since_answer(self) -> float:
        """Since the last answer."""


@dataclass(frozen=True, slots=True)
class Truth:
    """The database that holds the documents: what is asked and written, whether it answers, and what it tells."""

    store: DocumentStore
    contact: StoreContact
    notices: Notices


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a replica waits: for writes, between looks, for a version, and how long it may be behind."""

    writes_s: float
    poll_s: float
    version_s: float
    behind_s: float
