"""Groups of documents that lie near one another, found one group at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

AT_ONCE = 16  # documents whose neighbours are asked for together


@dataclass(frozen=True, slots=True)
class Member:
    """A document of a group; `like` is the one that it was found by, None for the first of a group."""

    id: str
    text: str
    like: str | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A document that lies near another one."""

    id: str
    text: str
    score: float


Near: TypeAlias = Callable[[Sequence[Member]], Sequence[Sequence[Neighbour]]]
"""For each of some documents, those near enough to be the same; the document itself may be among them."""


class NearGroups:
    """Documents joined by chains of neighbours, each group as soon as it is complete.

    A group holds every document that a chain of neighbours leads to from its first one; so each document is asked for
    once. Where being near is not mutual (only the k nearest are known, say), a document may lie near one of an earlier
    group; then its group names that one again, the nearest if there are several.

    >>> texts = {"a": "x", "b": "x", "c": "y"}
    >>> def near(members):
    ...     return [[Neighbour(i, t, 1.0) for i, t in texts.items() if t == m.text] for m in members]
    >>> [[m.id for m in group] for group in NearGroups(near).of([Member(i, t) for i, t in texts.items()])]
    [['a', 'b']]
    """

    def __init__(self, near: Near) -> None:
        self._near = near
        self._followed: set[str] = set()
        self._known: dict[str, Sequence[Neighbour]] = {}  # of documents that are not followed yet

    def of(self, documents: Iterable[Member]) -> Iterator[list[Member]]:
        """The groups of two or more among `documents`."""
        remaining = iter(documents)
        while some := list(islice(remaining, AT_ONCE)):
            self._ask([each for each in some if each.id not in self._followed])
            for first in some:
                if first.id not in self._followed:
                    group = self._group(first)
                    if len(group) > 1:
                        yield group

    def _group(self, first: Member) -> list[Member]:
        group = {first.id: first}
        waiting = [first]
        earlier: list[Member] = []
        while waiting := [each for each in waiting if each.id not in self._followed]:
            follow, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
            self._ask(follow)
            self._followed.update(each.id for each in follow)
            for each in follow:
                new = [near for near in self._known.pop(each.id) if near.id not in group]
                members = [Member(near.id, near.text, each.id, near.score) for near in new]
                earlier += [member for member in members if member.id in self._followed]
                fresh = [member for member in members if member.id not in self._followed]
                group |= {member.id: member for member in fresh}
                waiting += fresh
        return [*group.values(), *sorted(earlier, key=lambda member: -(member.score or 0))[:1]]

    def _ask(self, members: Sequence[Member]) -> None:
        unknown = [each for each in members if each.id not in self._known]
        if unknown:
            found = self._near(unknown)
            self._known |= {each.id: neighbours for each, neighbours in zip(unknown, found, strict=True)}
