"""The figures of reranking: nDCG against scikit-learn, differences to cosine, and the cross-encoder compared with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import numpy as np
import pytest
from semblance_client import Client

from benchmarks.baselines.rerankers import Question, rerank_body, scores_of
from benchmarks.quality.reranking import BEST, FIRST_STAGE, MEASURES, candidates, intervals_of, rows, values_of
from semblance_lab.cli.evaluate.data_sets import read_task
from semblance_lab.evaluation.tasks import Rankings, Retrieval
from tests.conftest import built_in_checkpoint
from tests.support.running_service import running_service

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

QUERIES = 12

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with running_service(models="minilm") as url:
        yield url


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with Client(address) as connected:
        yield connected


@pytest.fixture
def http(address: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=address, timeout=120) as connected:
        yield connected


@pytest.fixture(scope="module")
def oracle() -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer  # takes seconds

    return SentenceTransformer(str(built_in_checkpoint().folder), device="cpu")


def by_scikit_learn(oracle: SentenceTransformer, query: str, vectors: np.ndarray, relevance: list[float]) -> float:
    """nDCG@10 of an exhaustive search by cosine among normalized vectors."""
    from sklearn.metrics import ndcg_score

    scores = vectors @ oracle.encode(query, normalize_embeddings=True)
    return float(ndcg_score([relevance], [scores], k=BEST))


def test_reranked_collections_have_the_ndcg_of_exhaustive_search(
    data: Path, client: Client, http: httpx2.Client, oracle: SentenceTransformer
) -> None:
    """The collection has fewer documents than the first stage returns, so that all of them are reranked."""
    task = read_task("adi", data)
    assert isinstance(task, Retrieval)
    values, _ = values_of(http, candidates(client, task, range(QUERIES)), "adi")
    corpus = oracle.encode(list(task.corpus.values()), normalize_embeddings=True)
    expected = [
        by_scikit_learn(oracle, query, corpus, [task.relevance[key].get(each, 0) for each in task.corpus])
        for key, query in list(task.queries.items())[:QUERIES]
    ]
    assert values[FIRST_STAGE] == pytest.approx(expected, abs=1e-6)
    assert 0.1 < np.mean(expected) < 0.9
    assert all(values[measure] != values[FIRST_STAGE] for measure in MEASURES[1:])


def test_reranked_candidates_have_the_ndcg_of_their_cosines(
    data: Path, client: Client, http: httpx2.Client, oracle: SentenceTransformer
) -> None:
    task = read_task("wikiqa_dev", data)
    assert isinstance(task, Rankings)
    values, truncated = values_of(http, candidates(client, task, range(QUERIES)), "wikiqa")
    of_queries = zip(task.queries[:QUERIES], task.candidates, task.relevance, strict=False)
    expected = [
        by_scikit_learn(oracle, query, oracle.encode(list(texts), normalize_embeddings=True), list(grades))
        if len(texts) > 1
        else 1.0
        for query, texts, grades in of_queries
    ]
    assert values[FIRST_STAGE] == pytest.approx(expected, abs=1e-6)
    assert truncated == 0


def test_differences_are_paired_by_query() -> None:
    """A measure that is better by 0.1 for every query has a difference without variance."""
    cosine = np.linspace(0.1, 0.8, 20)
    values = {measure: (cosine + 0.1 * (measure == "rcmd")).tolist() for measure in MEASURES}
    found = rows("minilm", {"one": intervals_of(values), "two": intervals_of(values)})
    assert {each.collection for each in found} == {"one", "two", "mean"}
    for row in found:
        better = 0.1 if row.measure == "rcmd" else 0.0
        assert row.ndcg == pytest.approx(cosine.mean() + better)
        assert [row.to_cosine, *row.interval] == pytest.approx([better] * 3)
        assert [row.to_default, *row.default_interval] == pytest.approx([better] * 3)


def test_scores_are_read_in_the_order_of_the_documents(http: httpx2.Client) -> None:
    question = Question("a cat", ["a stone", "a cat", "a dog"])
    answer = http.post("/v2/rerank", json=rerank_body(question) | {"model": "minilm", "measure": "cosine"})
    scores = scores_of(answer.content)
    assert np.argsort(-scores).tolist() == [1, 2, 0]
    assert scores[1] == pytest.approx(1, abs=1e-5)
