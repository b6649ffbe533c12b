"""Choose other hits than the best: by a field, some of each group, or those that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from semblance_client.vocabulary.fields import Scalar

from semblance.models.embeddings import Floats
from semblance.service.filters import ValueType, type_of
from semblance.service.sorting import Order, by_value
from semblance.service.usecases.search.results import SearchHit


@dataclass(frozen=True, slots=True)
class Choice:
    """Which of the ranked hits to return.

    Attributes:
        group_by: a metadata field, of whose values each counts as one hit; None for no groups.
        group_size: most hits of a value.
        diversity: from 0 for the most similar hits to 1 for those least alike.
        order: by a metadata field; None is that of the hits.
    """

    group_by: str | None = None
    group_size: int = 1
    diversity: float = 0.0
    order: Order | None = None

    def __bool__(self) -> bool:
        """Whether other hits than the best may be chosen."""
        return self.order is not None or self.group_by is not None or self.diversity > 0.0

    def of(self, hits: Sequence[SearchHit], vectors: Mapping[str, Floats], page: slice) -> list[SearchHit]:
        """The hits of some groups, one after the other; without groups, each hit is one of its own.

        Args:
            hits: best first.
            vectors: (p, d) of the passages by document id, needed for diversity; hits without one are left out.
            page: which groups.
        """
        if self.order:
            hits = list(chain.from_iterable(by_value(hits, lambda hit: hit.document.metadata, self.order)))
        groups = [[hit] for hit in hits] if self.group_by is None else _groups(hits, self.group_by, self.group_size)
        if self.diversity:
            known = [(each, _vector(each[0], vectors)) for each in groups]
            pairs = [(each, vector) for each, vector in known if vector is not None]
            groups = [pairs[i][0] for i in _diverse(pairs, self.diversity, page.stop)]
        return [hit for group in groups[page] for hit in group]


def marginally_relevant(relevance: Floats, vectors: Floats, diversity: float, k: int) -> list[int]:
    """Choose one after the other the item that is relevant, and unlike those chosen before.

    Carbonell and Goldstein (1998), "The use of MMR, diversity-based reranking": the next item has the largest
    (1 - diversity) relevance - diversity (largest cosine with a chosen one). Of equals, the first.

    Args:
        relevance: (n,) of the items.
        vectors: (n, d), rows at unit length.
        diversity: from 0 to 1.
        k: number of items.
    """
    chosen: list[int] = []
    nearest = np.zeros(len(relevance))
    free = np.ones(len(relevance), bool)
    while len(chosen) < min(k, len(relevance)):
        values = (1 - diversity) * relevance - diversity * nearest
        best = int(np.argmax(np.where(free, values, -np.inf)))
        cosines = vectors @ vectors[best]
        nearest = np.maximum(nearest, cosines) if chosen else cosines
        chosen.append(best)
        free[best] = False
    return chosen


def _diverse(pairs: Sequence[tuple[list[SearchHit], Floats]], diversity: float, k: int) -> list[int]:
    """Places of k diverse groups, each by its best hit."""
    if not pairs:
        return []
    relevance = np.array([group[0].combined for group, _ in pairs])
    return marginally_relevant(relevance, np.stack([vector for _, vector in pairs]), diversity, k)


def _vector(hit: SearchHit, vectors: Mapping[str, Floats]) -> Floats | None:
    """The vector of the best passage; None if the document has changed since the search."""
    own, number = vectors.get(hit.document.id), hit.best.number
    return None if own is None or number >= len(own) else own[number]


def _groups(hits: Sequence[SearchHit], field: str, size: int) -> list[list[SearchHit]]:
    """Hits by their value in a field, the group of the best hit first.

    Those without a value are groups of their own.
    """
    groups: dict[tuple[ValueType, Scalar] | str, list[SearchHit]] = {}
    for hit in hits:
        groups.setdefault(_group_of(hit, field), []).append(hit)
    return [group[:size] for group in groups.values()]


def _group_of(hit: SearchHit, field: str) -> tuple[ValueType, Scalar] | str:
    match hit.document.metadata.get(field):
        case str() | int() | float() | bool() as value:
            return type_of(value), value
        case _:
            return hit.document.id
