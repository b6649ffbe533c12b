"""What a benchmark asks: the kinds of tasks, each with its texts and what people said of them.

A file of `models/evaluation/datasets/` reads one benchmark and makes one of these of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class GradedPairs:
    """Pairs of sentences, and how alike people found each: n texts left, n right, n gold scores, any scale.

    `subtasks` names the part of the benchmark that each pair comes from; all equal where there are no parts. `groups`
    names the group of pairs that each belongs to, where pairs of a group depend on each other, as those that have
    sentences in common; None where every pair stands alone.
    """

    left: Sequence[str]
    right: Sequence[str]
    gold: Sequence[float]
    subtasks: Sequence[str]
    groups: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class LabelledPairs:
    """Pairs of texts that match or do not: n texts left, n right, n labels."""

    left: Sequence[str]
    right: Sequence[str]
    matches: Sequence[bool]


@dataclass(frozen=True, slots=True)
class Triplets:
    """Texts with one that is nearer and one that is further: n anchors, n positives, n negatives."""

    anchors: Sequence[str]
    positives: Sequence[str]
    negatives: Sequence[str]


@dataclass(frozen=True, slots=True)
class Rankings:
    """Queries, each with its own candidates (5 + 25 in Twitter4SSE) and the relevance of each candidate."""

    queries: Sequence[str]
    candidates: Sequence[Sequence[str]]
    relevance: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Retrieval:
    """A corpus, queries with a relevant document, and the judged documents of each query: id -> text or relevance."""

    corpus: Mapping[str, str]
    queries: Mapping[str, str]
    relevance: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class ChunkLink:
    """One line of an iSTS alignment: 1-based word numbers of either side (empty: not aligned), labels and a score."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    labels: frozenset[str]
    score: float | None


@dataclass(frozen=True, slots=True)
class ChunkedPair:
    """A sentence pair of iSTS: words as the gold file splits them, chunks as 1-based word numbers, gold alignment."""

    id: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    left_chunks: tuple[tuple[int, ...], ...]
    right_chunks: tuple[tuple[int, ...], ...]
    gold: tuple[ChunkLink, ...]


@dataclass(frozen=True, slots=True)
class ChunkAlignment:
    """Sentence pairs whose chunks are to be aligned."""

    pairs: Sequence[ChunkedPair]


@dataclass(frozen=True, slots=True)
class Deletion:
    """Pairs of texts from which words are deleted, to see whether the strongest links are what holds a score up."""

    left: Sequence[str]
    right: Sequence[str]


Task: TypeAlias = GradedPairs | LabelledPairs | Triplets | Rankings | Retrieval | ChunkAlignment | Deletion
