"""Ledger of acknowledged writes: what a collection may contain at each of its versions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias


class Stored(NamedTuple):
    """A document: its text, and the number in its metadata."""

    text: str
    number: int | None = None


State: TypeAlias = Stored | None  # None if the document does not exist


class Version(NamedTuple):
    """A version of a collection: a number within an epoch."""

    epoch: str
    number: int


def parse_version(version: str) -> Version:
    """Parse a version as it occurs in answers, with or without its commit.

    >>> parse_version("5f3a:12:c4d1f09e")
    Version(epoch='5f3a', number=12)
    """
    epoch, number, *_ = version.split(":")
    return Version(epoch, int(number))


def stored_documents(listed: Iterable[Any]) -> dict[str, Stored]:
    return {each["id"]: Stored(each["text"], each["metadata"].get("number")) for each in listed}


class _Since(NamedTuple):
    """The possible states of a document from a version number on."""

    number: int
    states: frozenset[State]


NEVER_WRITTEN = _Since(-1, frozenset({None}))


class Ledger:
    """History of each document; a document has one writer, which sends one request at a time.

    A write without an answer may have been stored, or may still be. Its documents are `open` and are not written to
    until `settle` has found out.
    """

    def __init__(self) -> None:
        self.latest: str | None = None  # the version of a recent write
        self.epoch = ""
        self._open: dict[str, list[State]] = {}
        self._epochs: dict[str, dict[str, list[_Since]]] = {}

    def begin(self, version: str, states: Mapping[str, State]) -> None:
        first = parse_version(version)
        self.epoch, self.latest = first.epoch, version
        self._open.clear()
        self._epochs[first.epoch] = {
            doc_id: [_Since(first.number, frozenset({state}))] for doc_id, state in states.items()
        }

    def attempt(self, change: Mapping[str, State]) -> None:
        for doc_id, state in change.items():
            self._open.setdefault(doc_id, []).append(state)

    def acknowledge(self, change: Mapping[str, State], version: str) -> None:
        epoch, number = parse_version(version)
        for doc_id, state in change.items():
            self._history(epoch, doc_id).append(_Since(number, frozenset({state})))
            del self._open[doc_id]
        self.latest = version

    def refused(self, change: Mapping[str, State]) -> None:
        """Record that nothing was stored of a write."""
        for doc_id in change:
            del self._open[doc_id]

    def is_open(self, doc_id: str) -> bool:
        return doc_id in self._open

    @property
    def any_open(self) -> bool:
        return bool(self._open)

    def ids_of(self, epoch: str) -> Sequence[str]:
        """Documents with acknowledged writes in an epoch."""
        return [*self._epochs[epoch]]

    def now(self, doc_id: str) -> State:
        [state] = self._history(self.epoch, doc_id)[-1].states
        return state

    def may_hold_now(self, doc_id: str) -> set[State]:
        return {self.now(doc_id), *self._open.get(doc_id, [])}

    def may_hold(self, doc_id: str, at: Version) -> set[State]:
        """The possible states of a document at a version."""
        history = self._history(at.epoch, doc_id)
        before = bisect_right(history, at.number, key=lambda since: since.number)
        return {*history[max(before, 1) - 1].states, *self._open.get(doc_id, [])}

    def may_hold_since(self, doc_id: str, at: Version) -> set[State]:
        """The possible states of a document at a version or later."""
        later = (since.states for since in self._history(at.epoch, doc_id) if since.number > at.number)
        return self.may_hold(doc_id, at).union(*later)

    def rewritten_after(self, doc_id: str, at: Version) -> bool:
        """Whether a document was, or may have been, written after a version."""
        return doc_id in self._open or self._history(at.epoch, doc_id)[-1].number > at.number

    def knows(self, epoch: str) -> bool:
        return epoch in self._epochs

    def ever(self, doc_id: str) -> set[State]:
        """All states that were ever written to a document."""
        histories = (since.states for epoch in self._epochs.values() for since in epoch.get(doc_id, []))
        return {*self._open.get(doc_id, []), *(state for states in histories for state in states)}

    def contents(self) -> dict[str, State]:
        return {doc_id: self.now(doc_id) for doc_id in self.ids_of(self.epoch)}

    def settle(self, stored: Mapping[str, Stored], version: str) -> int:
        """Adopt the stored states of open documents; returns how many unanswered writes succeeded."""
        epoch, number = parse_version(version)
        count = 0
        for doc_id, states in self._open.items():
            count += stored.get(doc_id) != self.now(doc_id)
            history = self._history(epoch, doc_id)
            history.append(_Since(history[-1].number, history[-1].states | set(states)))  # at an unknown time
            history.append(_Since(number, frozenset({stored.get(doc_id)})))
        self._open.clear()
        return count

    def _history(self, epoch: str, doc_id: str) -> list[_Since]:
        return self._epochs[epoch].setdefault(doc_id, [NEVER_WRITTEN])
