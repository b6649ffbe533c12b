"""Queries with candidates of their own: are the relevant ones put first?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.evaluation.scorer import Scorer
from semblance.models.evaluation.statistics.quantities import Judged, mean_value
from semblance.models.evaluation.statistics.ranking import average_precision, ndcg_of_scores, reciprocal_rank
from semblance.models.evaluation.tasks import Rankings


def judge(task: Rankings, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, Judged]:
    """nDCG over all candidates of a query, average precision, and the reciprocal rank of the first relevant one.

    Among equal scores nDCG takes the mean over all orders; the other two put what is relevant last.
    """
    lengths = [len(candidates) for candidates in task.candidates]
    left = [query for query, length in zip(task.queries, lengths, strict=True) for _ in range(length)]
    right = [text for candidates in task.candidates for text in candidates]
    found = scorer.scores(measures, left, right)
    return {name: _judged(task, np.split(scores, np.cumsum(lengths)[:-1])) for name, scores in found.items()}


def _judged(task: Rankings, scores: Sequence[Doubles]) -> Judged:
    relevance = [np.asarray(each, np.float64) for each in task.relevance]
    graded = [dict(enumerate(each)) for each in task.relevance]
    orders = [np.lexsort((grades, -each)).tolist() for each, grades in zip(scores, relevance, strict=True)]
    quantities = (
        mean_value("ndcg", [ndcg_of_scores(*pair) for pair in zip(scores, relevance, strict=True)]),
        mean_value("map", [average_precision(*pair) for pair in zip(orders, graded, strict=True)]),
        mean_value("mrr", [reciprocal_rank(*pair) for pair in zip(orders, graded, strict=True)]),
    )
    return Judged("rankings", len(task.queries), quantities)
