"""Fuse two rankings of documents into one, by their ranks alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

RANK_CONSTANT = 60  # of reciprocal rank fusion: the larger, the less the first ranks stand out


class FusedRank(NamedTuple):
    """A document with its ranks by vectors and by terms, from 1; None where it has none."""

    id: str
    vector_rank: int | None
    term_rank: int | None

    @property
    def score(self) -> float:
        """Sum of the reciprocal ranks (Cormack, Clarke and Buettcher 2009)."""
        ranks = [rank for rank in (self.vector_rank, self.term_rank) if rank is not None]
        return sum(1 / (RANK_CONSTANT + rank) for rank in ranks)


def fused_ranks(by_vector: Sequence[str], by_terms: Sequence[str]) -> list[FusedRank]:
    """All documents of two rankings, best first; of equals, the one that comes first by vectors.

    >>> [each.id for each in fused_ranks(["a", "b", "c"], ["c", "d"])]
    ['c', 'a', 'b', 'd']
    """
    vector_ranks, term_ranks = ({doc_id: i for i, doc_id in enumerate(each, 1)} for each in (by_vector, by_terms))
    fused = [
        FusedRank(doc_id, vector_ranks.get(doc_id), term_ranks.get(doc_id)) for doc_id in vector_ranks | term_ranks
    ]
    return sorted(fused, key=lambda each: -each.score)
