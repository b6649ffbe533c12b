"""How well a ranking puts what is relevant first."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from semblance.models.embeddings import Doubles

D = TypeVar("D", bound=Hashable)  # what names a document


def ndcg(ranking: Sequence[D], relevance: Mapping[D, float], k: int) -> float:
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


def recall(ranking: Sequence[D], relevance: Mapping[D, float], k: int) -> float:
    """The share of all relevant documents (relevance above 0) that stand among the first k of a ranking.

    >>> recall(["a", "b", "c"], {"a": 2, "d": 1}, k=3)
    0.5
    """
    relevant = {doc_id for doc_id, grade in relevance.items() if grade > 0}
    return len(relevant & set(ranking[:k])) / len(relevant) if relevant else 0.0


def average_precision(ranking: Sequence[D], relevance: Mapping[D, float]) -> float:
    """The mean, over all relevant documents (relevance above 0), of the precision at the rank of each.

    1 if all relevant documents stand first; a relevant document that is not in the ranking counts 0; 0 if nothing is
    relevant. The mean of this over queries is known as MAP.

    >>> round(average_precision(["a", "b", "c", "d"], {"a": 1, "c": 1}), 6)
    0.833333
    """
    relevant = {doc_id for doc_id, grade in relevance.items() if grade > 0}
    ranks = [rank for rank, doc_id in enumerate(ranking, 1) if doc_id in relevant]
    return math.fsum(found / rank for found, rank in enumerate(ranks, 1)) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranking: Sequence[D], relevance: Mapping[D, float], k: int | None = None) -> float:
    """One over the rank of the first relevant document among the first k (None: among all); 0 if there is none.

    The mean of this over queries is known as MRR.

    >>> reciprocal_rank(["a", "b", "c"], {"b": 1, "c": 2})
    0.5
    """
    ranks = (rank for rank, doc_id in enumerate(ranking[:k], 1) if relevance.get(doc_id, 0.0) > 0)
    return 1 / next(ranks, math.inf)


def ndcg_of_scores(scores: Doubles, relevance: Doubles, k: int | None = None) -> float:
    """nDCG of c candidates ranked by their scores, averaged over all orders of candidates with equal scores.

    As `ndcg`, but each of a group of equal scores gets the mean relevance of the group, so that the order in which the
    candidates were given cannot matter. If all scores are equal, this is what a random ranking has on average.

    Args:
        scores: (c,) the higher the better.
        relevance: (c,) the gain of each candidate, counted as 0 below 0.
        k: how many ranks count; None for all.

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
