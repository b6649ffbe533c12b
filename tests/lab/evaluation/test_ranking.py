"""Ranking metrics: worked examples, scikit-learn as oracle, and random rankings."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from semblance.models.embeddings import Doubles
from semblance_lab.evaluation.statistics import (
    average_precision,
    ndcg,
    ndcg_of_scores,
    recall,
    reciprocal_rank,
)
from tests.support.project import GOLDEN_FILES

GOLDEN = json.loads((GOLDEN_FILES / "twitter4sse_ranking.json").read_text())
TOLERANCE = GOLDEN["tolerance"]
RELEVANT, CANDIDATES = GOLDEN["relevant"], GOLDEN["candidates"]


def by_rank(relevance: list[float]) -> tuple[list[str], dict[str, float]]:
    """A ranking of documents named by their rank, and their relevance."""
    return [str(i) for i in range(len(relevance))], {str(i): grade for i, grade in enumerate(relevance)}


def falling(n: int) -> Doubles:
    return np.arange(n, 0, -1.0)


def test_the_worked_examples() -> None:
    relevance = GOLDEN["relevance_by_rank"]
    ranking, judged = by_rank(relevance)
    assert ndcg(ranking, judged, k=5) == pytest.approx(GOLDEN["ndcg"], abs=TOLERANCE)
    assert ndcg_of_scores(falling(5), np.array(relevance, float)) == pytest.approx(GOLDEN["ndcg"], abs=TOLERANCE)
    assert average_precision(ranking, judged) == pytest.approx(GOLDEN["average_precision"], abs=TOLERANCE)
    scores, tied = np.array(GOLDEN["tied_scores"]), np.array(GOLDEN["tied_relevance"], float)
    assert ndcg_of_scores(scores, tied) == pytest.approx(GOLDEN["tied_ndcg"], abs=TOLERANCE)


def test_ndcg_of_the_worst_ranking_and_of_ties() -> None:
    last = [0.0] * (CANDIDATES - RELEVANT) + [1.0] * RELEVANT
    assert ndcg_of_scores(falling(CANDIDATES), np.array(last)) == pytest.approx(GOLDEN["lowest_ndcg"], abs=TOLERANCE)
    assert ndcg(*by_rank(last), k=CANDIDATES) == pytest.approx(GOLDEN["lowest_ndcg"], abs=TOLERANCE)
    expected = GOLDEN["expected_ndcg_of_a_random_ranking"]
    assert ndcg_of_scores(np.zeros(CANDIDATES), np.array(last)) == pytest.approx(expected, abs=TOLERANCE)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=12), st.integers(1, 12))
def test_ndcg_with_ties_equals_scikit_learn(candidates: list[tuple[int, int]], k: int) -> None:
    scores, relevance = (np.array(side, float) for side in zip(*candidates, strict=True))
    for cut in (None, k):
        oracle = ndcg_score([relevance], [scores], k=cut)
        assert ndcg_of_scores(scores, relevance, cut) == pytest.approx(oracle, abs=1e-12)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=12), st.integers(1, 12))
def test_ndcg_of_a_part_equals_scikit_learn_on_the_whole(relevance: list[int], found: int) -> None:
    """Judged documents that a ranking lacks count as its last ones, beyond k."""
    ranking, judged = by_rank(list(map(float, relevance)))
    oracle = ndcg_score([relevance], [falling(len(relevance))], k=found)
    assert ndcg(ranking[:found], judged, k=found) == pytest.approx(oracle, abs=1e-12)


@given(st.lists(st.integers(0, 2), min_size=2, max_size=12))
def test_average_precision_without_ties_equals_scikit_learn(relevance: list[int]) -> None:
    oracle = average_precision_score(np.array(relevance) > 0, falling(len(relevance))) if any(relevance) else 0.0
    assert average_precision(*by_rank(list(map(float, relevance)))) == pytest.approx(oracle, abs=1e-12)


def test_missing_relevant_documents_lower_average_precision() -> None:
    assert average_precision(["a"], {"a": 1, "b": 1}) == 0.5
    assert average_precision(["a"], {"b": 1}) == average_precision([], {}) == 0.0


def test_reciprocal_rank_of_the_first_relevant_document_within_k() -> None:
    ranking, relevance = ["a", "b", "c", "d"], {"a": 0.0, "c": 2.0, "d": 3.0}
    assert reciprocal_rank(ranking, relevance) == pytest.approx(1 / 3)
    assert reciprocal_rank(ranking, relevance, k=3) == pytest.approx(1 / 3)
    assert reciprocal_rank(ranking, relevance, k=2) == 0.0
    assert reciprocal_rank(ranking, {}) == 0.0


def test_metrics_without_relevant_documents_are_zero() -> None:
    assert ndcg_of_scores(falling(3), np.zeros(3)) == 0.0
    assert ndcg_of_scores(falling(2), np.array([-1.0, 0.0])) == 0.0
    assert recall(["a"], {}, k=1) == 0.0
