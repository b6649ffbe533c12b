"""A corpus and queries: are the relevant documents found, and put first?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from semblance.models.evaluation.scorer import Scorer
from semblance.models.evaluation.statistics.quantities import Judged, mean_value
from semblance.models.evaluation.statistics.ranking import ndcg, recall, reciprocal_rank
from semblance.models.evaluation.tasks import Retrieval

DEPTH = 100  # documents of each ranking that are looked at


def judge(task: Retrieval, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, Judged]:
    """nDCG@10 with linear gain, recall@10 and @100, and the reciprocal rank of the first relevant document."""
    found = scorer.search(measures, task, DEPTH)
    return {name: _judged(task, rankings) for name, rankings in found.items()}


def _judged(task: Retrieval, rankings: Mapping[str, Sequence[str]]) -> Judged:
    pairs = [(rankings[query_id], task.relevance[query_id]) for query_id in task.queries]
    quantities = (
        mean_value("ndcg@10", [ndcg(ranking, relevance, 10) for ranking, relevance in pairs]),
        mean_value("recall@10", [recall(ranking, relevance, 10) for ranking, relevance in pairs]),
        mean_value("recall@100", [recall(ranking, relevance, DEPTH) for ranking, relevance in pairs]),
        mean_value("mrr", [reciprocal_rank(ranking, relevance) for ranking, relevance in pairs]),
    )
    return Judged("retrieval", len(pairs), quantities)
