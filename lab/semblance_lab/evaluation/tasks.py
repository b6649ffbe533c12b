"""Types of evaluation tasks: texts with their human annotations.

Each file of `datasets/` reads one benchmark as one of these, or as pairs of `semblance.models.judgments.pairs`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from semblance.models.judgments.pairs import GradedPairs, LabeledPairs


@dataclass(frozen=True, slots=True)
class Triplets:
    """Texts with a more similar and a less similar one: n anchors, n positives, n negatives."""

    anchors: Sequence[str]
    positives: Sequence[str]
    negatives: Sequence[str]


@dataclass(frozen=True, slots=True)
class Rankings:
    """Queries with their candidates (5 + 25 in Twitter4SSE) and the relevance of each candidate."""

    queries: Sequence[str]
    candidates: Sequence[Sequence[str]]
    relevance: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class Retrieval:
    """A corpus, queries with relevant documents, and judgments: id -> text or relevance."""

    corpus: Mapping[str, str]
    queries: Mapping[str, str]
    relevance: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class ChunkLink:
    """A line of an iSTS alignment: 1-based word numbers (empty: not aligned), labels, score."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    labels: frozenset[str]
    score: float | None


@dataclass(frozen=True, slots=True)
class ChunkedPair:
    """A sentence pair of iSTS: words, chunks as 1-based word numbers, gold alignment."""

    id: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    left_chunks: tuple[tuple[int, ...], ...]
    right_chunks: tuple[tuple[int, ...], ...]
    gold: tuple[ChunkLink, ...]


@dataclass(frozen=True, slots=True)
class ChunkAlignment:
    """Sentence pairs whose chunks must be aligned."""

    pairs: Sequence[ChunkedPair]


@dataclass(frozen=True, slots=True)
class WordAlignedPair:
    """A sentence pair with aligned words: links are pairs of word numbers, counted from 0.

    `sure` holds the certain links, `possible` the further ones that the annotators allow. A word may have several
    links, or none.
    """

    id: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class WordAlignment:
    """Sentence pairs whose words must be aligned."""

    pairs: Sequence[WordAlignedPair]


@dataclass(frozen=True, slots=True)
class Deletion:
    """Pairs of texts for the deletion test: do the strongest links carry the score?"""

    left: Sequence[str]
    right: Sequence[str]


Task: TypeAlias = (
    GradedPairs | LabeledPairs | Triplets | Rankings | Retrieval | ChunkAlignment | WordAlignment | Deletion
)
