"""Search quality on judged queries, compared with exhaustive sentence-transformers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from semblance_client import Client
from sentence_transformers import SentenceTransformer

from semblance.models.encoders.transformer import Transformer
from semblance_lab.cli.evaluate.remote_scorer import RemoteScorer
from semblance_lab.evaluation.datasets import data_set
from semblance_lab.evaluation.scorer import LocalScorer, Scorer
from semblance_lab.evaluation.statistics import ndcg, recall
from semblance_lab.evaluation.tasks import Retrieval
from tests.conftest import built_in_checkpoint
from tests.support.no_progress import no_progress

K = 10


@pytest.fixture(scope="module")
def adi(data: Path) -> Retrieval:
    task = data_set("adi").read(data / "ir" / "adi")
    assert isinstance(task, Retrieval)
    return task


@pytest.fixture(scope="module")
def exhaustive(adi: Retrieval) -> dict[str, list[str]]:
    oracle = SentenceTransformer(str(built_in_checkpoint().folder), device="cpu")
    ids = [doc_id for doc_id, text in adi.corpus.items() if text.strip()]
    documents = oracle.encode([adi.corpus[doc_id] for doc_id in ids], normalize_embeddings=True)
    queries = oracle.encode(list(adi.queries.values()), normalize_embeddings=True)
    best = np.argsort(-(queries @ documents.T), axis=1, kind="stable")[:, :K]
    return {query_id: [ids[i] for i in row] for query_id, row in zip(adi.queries, best, strict=True)}


def quality(task: Retrieval, rankings: dict[str, list[str]]) -> tuple[float, float]:
    pairs = [(rankings[query_id], task.relevance[query_id]) for query_id in task.queries]
    return float(np.mean([ndcg(*pair, K) for pair in pairs])), float(np.mean([recall(*pair, K) for pair in pairs]))


@pytest.mark.parametrize("where", ["service", "here"])
def test_cosine_search_equals_exhaustive_search_with_sentence_transformers(
    url: str, adi: Retrieval, exhaustive: dict[str, list[str]], minilm: Transformer, where: str
) -> None:
    with Client(url) as client:
        scorer: Scorer = (
            RemoteScorer(client, "minilm", no_progress) if where == "service" else LocalScorer(minilm, no_progress)
        )
        found = scorer.search(["cosine", "rcmd", "rcmd1"], adi, K)
        assert not [each for each in client.collections() if "evaluation" in each.name]
    assert quality(adi, found["cosine"]) == pytest.approx(quality(adi, exhaustive), abs=0.001)
    for measure in ("rcmd", "rcmd1"):
        assert quality(adi, found[measure])[0] > 0.2
