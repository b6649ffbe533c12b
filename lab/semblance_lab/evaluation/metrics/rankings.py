"""Metrics of rankings: of the candidates of a query, and of the documents of a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.judgments.counts import mean_value
from semblance_lab.evaluation.results import TaskMetrics
from semblance_lab.evaluation.scorer import Scorer
from semblance_lab.evaluation.statistics.ranking import (
    average_precision,
    ndcg,
    ndcg_of_scores,
    recall,
    reciprocal_rank,
)
from semblance_lab.evaluation.tasks import Rankings, Retrieval

DEPTH = 100  # documents of each ranking that are evaluated


def ranking_metrics(task: Rankings, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, TaskMetrics]:
    """nDCG over all candidates of a query, average precision, and reciprocal rank.

    For equal scores nDCG is the mean over all orders; the other two rank relevant candidates last.
    """
    lengths = [len(candidates) for candidates in task.candidates]
    left = [query for query, length in zip(task.queries, lengths, strict=True) for _ in range(length)]
    right = [text for candidates in task.candidates for text in candidates]
    scores = scorer.scores(measures, left, right)
    return {name: _of_candidates(task, np.split(each, np.cumsum(lengths)[:-1])) for name, each in scores.items()}


def retrieval_metrics(task: Retrieval, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, TaskMetrics]:
    """nDCG@10 with linear gain, recall@10 and @100, and reciprocal rank."""
    rankings = scorer.search(measures, task, DEPTH)
    return {name: _of_documents(task, each) for name, each in rankings.items()}


def _of_candidates(task: Rankings, scores: Sequence[Doubles]) -> TaskMetrics:
    relevance = [np.asarray(each, np.float64) for each in task.relevance]
    graded = [dict(enumerate(each)) for each in task.relevance]
    orders = [np.lexsort((grades, -each)).tolist() for each, grades in zip(scores, relevance, strict=True)]
    metrics = (
        mean_value("ndcg", [ndcg_of_scores(*pair) for pair in zip(scores, relevance, strict=True)]),
        mean_value("map", [average_precision(*pair) for pair in zip(orders, graded, strict=True)]),
        mean_value("mrr", [reciprocal_rank(*pair) for pair in zip(orders, graded, strict=True)]),
    )
    return TaskMetrics("rankings", len(task.queries), metrics)


def _of_documents(task: Retrieval, rankings: Mapping[str, Sequence[str]]) -> TaskMetrics:
    pairs = [(rankings[query_id], task.relevance[query_id]) for query_id in task.queries]
    metrics = (
        mean_value("ndcg@10", [ndcg(ranking, relevance, 10) for ranking, relevance in pairs]),
        mean_value("recall@10", [recall(ranking, relevance, 10) for ranking, relevance in pairs]),
        mean_value("recall@100", [recall(ranking, relevance, DEPTH) for ranking, relevance in pairs]),
        mean_value("mrr", [reciprocal_rank(ranking, relevance) for ranking, relevance in pairs]),
    )
    return TaskMetrics("retrieval", len(pairs), metrics)
