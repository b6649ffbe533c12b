"""What a collection was said to hold, at every version of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

State: TypeAlias = str | None  # the text of a document; None where there is none


class At(NamedTuple):
    """A version of a collection: a number within one of its lives."""

    epoch: str
    number: int


def read_version(version: str) -> At:
    """A version as answers write it.

    >>> read_version("5f3a:12")
    At(epoch='5f3a', number=12)
    """
    epoch, _, number = version.rpartition(":")
    return At(epoch, int(number))


class _Since(NamedTuple):
    """From a number on a document is in one of these states."""

    number: int
    states: frozenset[State]


NEVER = _Since(-1, frozenset({None}))  # was it written to


class Ledger:
    """Every document has one writer, which has at most one request under way: its states follow one another.

    A write without an answer may have been stored, and may yet be; its documents are `open`, and nobody writes to them,
    until somebody has looked (`settle`).
    """

    def __init__(self) -> None:
        self.latest: str | None = None  # a version that was acknowledged of late
        self.epoch = ""
        self._open: dict[str, list[State]] = {}
        self._lives: dict[str, dict[str, list[_Since]]] = {}

    def begin(self, version: str, states: Mapping[str, State]) -> None:
        """The collection begins another life, in which it holds this."""
        at = read_version(version)
        self.epoch, self.latest = at.epoch, version
        self._open.clear()
        self._lives[at.epoch] = {doc_id: [_Since(at.number, frozenset({state}))] for doc_id, state in states.items()}

    def attempt(self, change: Mapping[str, State]) -> None:
        """A write is being sent."""
        for doc_id, state in change.items():
            self._open.setdefault(doc_id, []).append(state)

    def acknowledge(self, change: Mapping[str, State], version: str) -> None:
        """It was answered with this version."""
        at = read_version(version)
        for doc_id, state in change.items():
            self._history(at.epoch, doc_id).append(_Since(at.number, frozenset({state})))
            del self._open[doc_id]
        self.latest = version

    def refused(self, change: Mapping[str, State]) -> None:
        """It was answered in a way that says that nothing was stored."""
        for doc_id in change:
            del self._open[doc_id]

    def is_open(self, doc_id: str) -> bool:
        """Whether nobody knows what it holds."""
        return doc_id in self._open

    @property
    def any_open(self) -> bool:
        """Whether there is any document of which nobody knows what it holds."""
        return bool(self._open)

    def ids_of(self, epoch: str) -> Sequence[str]:
        """All documents that were ever acknowledged in a life of the collection."""
        return [*self._lives[epoch]]

    def now(self, doc_id: str) -> State:
        """What was last acknowledged of it."""
        [state] = self._history(self.epoch, doc_id)[-1].states
        return state

    def may_hold(self, doc_id: str, at: At) -> set[State]:
        """The states that it may be found in at a version."""
        history = self._history(at.epoch, doc_id)
        before = bisect_right(history, at.number, key=lambda since: since.number)
        return {*history[max(before, 1) - 1].states, *self._open.get(doc_id, [])}

    def rewritten_after(self, doc_id: str, at: At) -> bool:
        """Whether it was written to after a version, or may have been."""
        return doc_id in self._open or self._history(at.epoch, doc_id)[-1].number > at.number

    def knows(self, epoch: str) -> bool:
        """Whether the collection had such a life."""
        return epoch in self._lives

    def ever(self, doc_id: str) -> set[State]:
        """All states that it was ever asked to be in."""
        lives = (since.states for life in self._lives.values() for since in life.get(doc_id, []))
        return {*self._open.get(doc_id, []), *(state for states in lives for state in states)}

    def held(self) -> dict[str, State]:
        """What the collection holds now; nothing may be open."""
        return {doc_id: self.now(doc_id) for doc_id in self.ids_of(self.epoch)}

    def settle(self, found: Mapping[str, str], version: str) -> int:
        """Take what was found for the truth of what is open; how many unanswered writes had been stored."""
        at = read_version(version)
        stored = 0
        for doc_id, states in self._open.items():
            stored += found.get(doc_id) != self.now(doc_id)
            history = self._history(at.epoch, doc_id)
            history.append(_Since(history[-1].number, history[-1].states | set(states)))  # it became so at some time
            history.append(_Since(at.number, frozenset({found.get(doc_id)})))
        self._open.clear()
        return stored

    def _history(self, epoch: str, doc_id: str) -> list[_Since]:
        return self._lives[epoch].setdefault(doc_id, [NEVER])
