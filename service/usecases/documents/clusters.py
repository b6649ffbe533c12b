"""Near-duplicates: neighbors of documents, and groups of neighbors of one of them."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from semblance.models.embeddings import Floats
from semblance.service.filters import Filter
from semblance.service.ports.indexes import ROUNDING, IndexReader
from semblance.service.threads import until_left

BATCH = 64  # documents whose neighbors are looked up together
MAX_MEMBERS = 1000  # of a group; a larger one is listed in parts


class Neighbor(NamedTuple):
    """A document that is similar enough to another one."""

    id: str
    score: float


class Member(NamedTuple):
    """Document of a group; `like` is the first one, None for that itself."""

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
    """Groups of documents that are neighbors of the first of them.

    In the order of ids, each document that is in no group yet is the first of the next, and takes its neighbors that
    are in none: up to 1,000, so that the others form further groups.

    Args:
        find: looks up neighbors. If b is a neighbor of a, a should be one of b.
        after: a group with a document whose id is not above this one was listed before.
    """

    def __init__(self, find: FindNeighbors, after: str = "") -> None:
        self._find = find
        self._after = after
        self._grouped: set[str] = set()
        self._neighbors: dict[str, Sequence[Neighbor]] = {}
        self._first: set[str] = set()  # of the groups that were listed before, as far as they are known

    async def of(self, ids: Sequence[str]) -> AsyncIterator[ClusterBatch]:
        """Groups of documents, whose ids are given in order."""
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            await self._fetch([each for each in batch if each not in self._grouped])
            groups = [await self._group(each) for each in batch if each not in self._grouped]
            yield ClusterBatch([group for group in groups if len(group) > 1], start + len(batch), batch[-1])
            for each in batch:
                self._neighbors.pop(each, None)

    async def _group(self, first: str) -> list[Member]:
        """The group of a document; empty if a former search listed it in another."""
        if await self._listed_before(first):
            return []
        free = [each for each in self._neighbors.get(first, ()) if each.id > first and each.id not in self._grouped]
        if self._after:
            await self._fetch([each.id for each in free])
            free = [each for each in free if not await self._listed_before(each.id)]
        free = free[: MAX_MEMBERS - 1]
        self._grouped |= {first, *(each.id for each in free)}
        return [Member(first), *(Member(each.id, first, each.score) for each in free)]

    async def _listed_before(self, doc_id: str) -> bool:
        """Whether a document is a neighbor of the first one of a group that was listed before.

        A document checked before is the first of a group if no neighbor before it is.
        """
        waiting = [doc_id]
        while waiting:
            last = waiting[-1]
            if last not in self._grouped:
                await self._fetch([last])
            near = [each.id for each in self._neighbors.get(last, ())]
            before = [each for each in near if each < last and each <= self._after]
            if last in self._grouped or any(each in self._first for each in before):
                self._grouped.add(waiting.pop())
            elif unknown := [each for each in before if each not in self._grouped]:
                waiting.append(min(unknown))
            elif waiting.pop() <= self._after:
                self._first.add(last)
                self._grouped.update(near)
        return doc_id in self._grouped

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
    index: IndexReader, ids: Sequence[str], k: int, where: Filter | None, min_score: float = -math.inf
) -> dict[str, list[Neighbor]]:
    """The documents nearest to each of some others, best first, with scores by cosine.

    They are those of the k nearest passages to each of its own, without itself. Those below `min_score` are left out.

    Documents that are gone are left out.
    """
    vectors = index.vectors(ids)
    if not vectors:
        return {}
    ends = np.cumsum([len(vector) for vector in vectors.values()])
    # a mean of best scores is at most the highest of them
    _, found = index.search(np.concatenate(list(vectors.values())), k + 1, where, 2, min_score - 2 * ROUNDING)
    near: dict[str, list[Neighbor]] = {}
    for (doc_id, own), end in zip(until_left(vectors.items()), ends, strict=True):
        hits = {hit.id: hit for each in found[end - len(own) : end] for hit in each if hit.id != doc_id}
        if len(own) == 1 and all(len(hit.passages) == 1 for hit in hits.values()):
            scored = [Neighbor(hit.id, hit.score) for hit in hits.values()]
        else:
            theirs = index.vectors(list(hits))
            scored = [Neighbor(each, document_score(own @ vectors.T)) for each, vectors in theirs.items()]
        near[doc_id] = sorted(
            (each for each in scored if each.score >= min_score - ROUNDING), key=lambda each: (-each.score, each.id)
        )
    return near
