"""Near-duplicates: neighbors of documents, and clusters that a chain of pairs links."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from semblance.models.embeddings import Floats
from semblance.service.filters import Filter
from semblance.service.ports.indexes import IndexReader
from semblance.service.threads import until_left

BATCH = 64  # documents whose neighbors are looked up together
MAX_MEMBERS = 1000  # of a group; a larger one is listed in parts


class Neighbor(NamedTuple):
    """A document that is similar enough to another one."""

    id: str
    score: float


class Member(NamedTuple):
    """Document of a group; `like` is the earlier member that led to it, None for the first one."""

    id: str
    like: str | None = None
    score: float | None = None


FindNeighbors: TypeAlias = Callable[[Sequence[str]], Awaitable[Mapping[str, Sequence[Neighbor]]]]
"""The neighbors of each of some documents; those of documents that are gone are left out."""


@dataclass(frozen=True, slots=True)
class ClusterBatch:
    """Groups whose first document is among the `checked` ones, up to `last`."""

    groups: Sequence[Sequence[Member]]
    checked: int
    last: str


class Clusters:
    """Connected components of the graph of neighbors, each listed at the first of its documents.

    A group holds every document that a chain of neighbors links to its first one, up to 1,000 of them; the others form
    further groups. The neighbors of each document are looked up once.

    Args:
        find: looks up neighbors. If b is a neighbor of a, a should be one of b.
        after: a group with a document whose id is not above this one was listed before.
    """

    def __init__(self, find: FindNeighbors, after: str = "") -> None:
        self._find = find
        self._after = after
        self._grouped: set[str] = set()
        self._neighbors: dict[str, Sequence[Neighbor]] = {}  # of documents that are in no group yet

    async def of(self, ids: Sequence[str]) -> AsyncIterator[ClusterBatch]:
        """Groups of documents, whose ids are given in order."""
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            await self._fetch([each for each in batch if each not in self._grouped])
            found = [await self._group(first) for first in batch if first not in self._grouped]
            listed = [group for group in found if len(group) > 1 and min(each.id for each in group) > self._after]
            yield ClusterBatch(listed, start + len(batch), batch[-1])

    async def _group(self, first: str) -> list[Member]:
        group = {first: Member(first)}
        waiting = [first]
        while waiting and len(group) < MAX_MEMBERS:
            expand, waiting = waiting[:BATCH], waiting[BATCH:]
            await self._fetch(expand)
            self._grouped.update(expand)
            for each in expand:
                near = self._neighbors.pop(each, ())
                new = [other for other in near if other.id not in group and other.id not in self._grouped]
                new = new[: MAX_MEMBERS - len(group)]
                group |= {other.id: Member(other.id, each, other.score) for other in new}
                waiting += [other.id for other in new]
        self._grouped.update(group)
        return list(group.values())

    async def _fetch(self, ids: Sequence[str]) -> None:
        if unknown := [each for each in ids if each not in self._neighbors]:
            self._neighbors |= await self._find(unknown)


def document_score(scores: Floats) -> float:
    """Score of two documents from the (p, q) scores of their passages.

    Each passage counts by the most similar one of the other document; the smaller of both means is taken, so that a
    document is not a duplicate of a longer one that contains it. It is symmetric, and of single passages their score.
    """
    if scores.size == 1:  # as of most documents: without the time that the reductions take
        return float(scores[0, 0])
    return float(min(scores.max(axis=1).mean(), scores.max(axis=0).mean()))


def nearest_documents(
    index: IndexReader, ids: Sequence[str], k: int, where: Filter | None
) -> dict[str, list[Neighbor]]:
    """The documents nearest to each of some others, best first, with scores by cosine.

    They are those of the k nearest passages to each of its own, without itself.

    Documents that are gone are left out.
    """
    vectors = index.vectors(ids)
    if not vectors:
        return {}
    ends = np.cumsum([len(vector) for vector in vectors.values()])
    _, found = index.search(np.concatenate(list(vectors.values())), k + 1, where)
    near: dict[str, list[Neighbor]] = {}
    for (doc_id, own), end in zip(until_left(vectors.items()), ends, strict=True):
        others = list(dict.fromkeys(hit.id for hits in found[end - len(own) : end] for hit in hits if hit.id != doc_id))
        scored = [Neighbor(each, document_score(own @ theirs.T)) for each, theirs in index.vectors(others).items()]
        near[doc_id] = sorted(scored, key=lambda each: (-each.score, each.id))
    return near
