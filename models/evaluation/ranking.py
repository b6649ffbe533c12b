"""How well a ranking puts what is relevant first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def ndcg(ranking: Sequence[str], relevance: Mapping[str, float], k: int) -> float:
    """Normalised discounted cumulative gain of the first k of a ranking, with linear gain.

    With r_i the relevance of the document at rank i (0 if it was not judged) and r*_i that of the ideal ranking of all
    judged documents::

        DCG = sum_{i=1..k} r_i / log2(i + 1)        nDCG = DCG / DCG*      in [0, 1]

    1 if the k most relevant stand first in order; 0 if none of the k is relevant, or nothing is relevant at all.

    >>> round(ndcg(["a", "b", "c"], {"a": 2, "c": 1}, k=3), 6)
    0.950234

    Source: jarvelin-kekalainen-2002-ndcg.
    """
    ideal = _dcg(sorted((grade for grade in relevance.values() if grade > 0), reverse=True)[:k])
    gained = _dcg([max(0.0, relevance.get(doc_id, 0.0)) for doc_id in ranking[:k]])
    return gained / ideal if ideal > 0 else 0.0


def recall(ranking: Sequence[str], relevance: Mapping[str, float], k: int) -> float:
    """The share of all relevant documents (relevance above 0) that stand among the first k of a ranking.

    >>> recall(["a", "b", "c"], {"a": 2, "d": 1}, k=3)
    0.5
    """
    relevant = {doc_id for doc_id, grade in relevance.items() if grade > 0}
    return len(relevant & set(ranking[:k])) / len(relevant) if relevant else 0.0


def _dcg(grades: Sequence[float]) -> float:
    return math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))
