"""Metrics of rankings: nDCG, recall, average precision and reciprocal rank."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from semblance.models.embeddings import Doubles

D = TypeVar("D", bound=Hashable)  # a document id


def ndcg(ranking: Sequence[D], relevance: Mapping[D, float], k: int) -> float:
    """Normalized discounted cumulative gain of the first k of a ranking, with linear gain.

    With r_i the relevance of the document at rank i (0 if it was not judged) and r*_i that of the ideal ranking of all
    judged documents::

        DCG = sum_{i=1..k} r_i / log2(i + 1)        nDCG = DCG / DCG*      in [0, 1]

    1 if the k most relevant come first in order; 0 if none of the first k is relevant, or no document is.

    >>> round(ndcg(["a", "b", "c"], {"a": 2, "c": 1}, k=3), 6)
    0.950234

    Source: jarvelin-kekalainen-2002-ndcg.
    """
    ideal = _dcg(sorted((grade for grade in relevance.values() if grade > 0), reverse=True)[:k])
    gained = _dcg([max(0.0, relevance.get(doc_id, 0.0)) for doc_id in ranking[:k]])
    return gained / ideal if ideal > 0 else 0.0


def recall(ranking: Sequence[D], relevance: Mapping[D, float], k: int) -> float:
    """The share of all relevant documents (relevance above 0) among the first k of a ranking.

    >>> recall(["a", "b", "c"], {"a": 2, "d": 1}, k=3)
    0.5
    """
    relevant = {doc_id for doc_id, grade in relevance.items() if grade > 0}
    return len(relevant & set(ranking[:k])) / len(relevant) if relevant else 0.0


def average_precision(ranking: Sequence[D], relevance: Mapping[D, float]) -> float:
    """The mean of the precision at the rank of each relevant document (relevance above 0).

    1 if all relevant documents come first; a relevant document that is not in the ranking counts 0; 0 if no document is
    relevant. The mean over queries is known as MAP.

    >>> round(average_precision(["a", "b", "c", "d"], {"a": 1, "c": 1}), 6)
    0.833333
    """
    relevant = {doc_id for doc_id, grade in relevance.items() if grade > 0}
    ranks = [rank for rank, doc_id in enumerate(ranking, 1) if doc_id in relevant]
    return math.fsum(count / rank for count, rank in enumerate(ranks, 1)) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranking: Sequence[D], relevance: Mapping[D, float], k: int | None = None) -> float:
    """One over the rank of the first relevant document among the first k; 0 if there is none.

    Without k, all ranks count. The mean over queries is known as MRR.

    >>> reciprocal_rank(["a", "b", "c"], {"b": 1, "c": 2})
    0.5
    """
    ranks = (rank for rank, doc_id in enumerate(ranking[:k], 1) if relevance.get(doc_id, 0.0) > 0)
    return 1 / next(ranks, math.inf)


def ndcg_of_scores(scores: Doubles, relevance: Doubles, k: int | None = None) -> float:
    """nDCG of c candidates ranked by score, averaged over all orders of equal scores.

    As `ndcg`, but candidates with equal scores get their mean relevance, so that the input order cannot matter. If all
    scores are equal, this is the expected nDCG of a random ranking.

    Args:
        scores: (c,) the higher the better.
        relevance: (c,) the gain of each candidate, counted as 0 below 0.
        k: ranks that count; None for all.

    >>> round(ndcg_of_scores(np.array([0.9, 0.5, 0.5, 0.1]), np.array([1.0, 1.0, 0.0, 0.0])), 6)
    0.95986

    Source: jarvelin-kekalainen-2002-ndcg; for ties mcsherry-najork-2008-ties, section 2.
    """
    gains = np.maximum(relevance, 0.0)
    discounts = 1 / np.log2(np.arange(len(gains))[:k] + 2.0)
    ideal = float(np.sort(gains)[::-1][:k] @ discounts)
    _, group, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
    mean_gain = np.bincount(group, weights=gains) / sizes
    gained = float(np.repeat(mean_gain, sizes)[:k] @ discounts)
    return gained / ideal if ideal > 0 else 0.0


def _dcg(grades: Sequence[float]) -> float:
    return math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))
