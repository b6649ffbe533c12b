"""Similar documents of a collection, by the vectors that are stored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semblance.models.embeddings import Floats
from semblance.service.filters import Filter
from semblance.service.ports.indexes import VectorIndex
from semblance.service.threads import until_left
from semblance.service.usecases.documents.clusters import Neighbor


def document_score(scores: Floats) -> float:
    """Score of two documents from the (p, q) scores of their passages.

    Each passage counts by the most similar one of the other document; the smaller of both means is taken, so that a
    document is no duplicate of a longer one that contains it. It is symmetric, and of single passages their score.
    """
    if scores.size == 1:  # as of most documents: without the time that the reductions take
        return float(scores[0, 0])
    return float(min(scores.max(axis=1).mean(), scores.max(axis=0).mean()))


def nearest_documents(
    index: VectorIndex, ids: Sequence[str], k: int, where: Filter | None
) -> dict[str, list[Neighbor]]:
    """The documents nearest to each of some others, best first, with scores by cosine.

    They are those of the k nearest passages to each of its own, without itself.

    Documents that are gone are left out.
    """
    vectors = index.vectors(ids)
    if not vectors:
        return {}
    ends = np.cumsum([len(each) for each in vectors.values()])
    _, found = index.search(np.concatenate(list(vectors.values())), k + 1, where)
    near: dict[str, list[Neighbor]] = {}
    for (doc_id, own), end in zip(until_left(vectors.items()), ends, strict=True):
        others = list(dict.fromkeys(hit.id for hits in found[end - len(own) : end] for hit in hits if hit.id != doc_id))
        scored = [Neighbor(each, document_score(own @ theirs.T)) for each, theirs in index.vectors(others).items()]
        near[doc_id] = sorted(scored, key=lambda each: (-each.score, each.id))
    return near
