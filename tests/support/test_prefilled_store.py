"""Search in a collection whose documents were stored with existing vectors."""

from __future__ import annotations

from pathlib import Path

import faiss
import httpx2
import numpy as np
import pytest

from semblance.models.embeddings import unit_rows
from tests.support.prefilled_store import fill_collection
from tests.support.running_service import Service
from tests.support.servers.word_models import DIM, WORDS, write_model

pytestmark = pytest.mark.slow


def test_search_uses_the_stored_vectors(tmp_path: Path) -> None:
    """No text is encoded: a search finds the nearest vectors, whatever the texts say."""
    service = Service(tmp_path, models=f"words={write_model(tmp_path / 'words.npz', seed=0)}", cache="none")
    vectors = unit_rows(np.random.default_rng(1).normal(size=(3000, DIM))).astype(np.float32)
    file = fill_collection(service, tmp_path, "prefilled", [f"text {i}" for i in range(len(vectors))], vectors)
    np.testing.assert_array_equal(faiss.read_index(str(file)).reconstruct_n(0, len(vectors)), vectors)
    try:
        url = service.start()
        query = " ".join(WORDS[:3])
        embedded = httpx2.post(f"{url}/v1/embeddings", json={"input": query, "model": "words"}, timeout=600).json()
        body = {"query": query, "collection": "prefilled", "k": 5}
        answer = httpx2.post(f"{url}/search", json=body, timeout=600).json()
    finally:
        service.stop()
    products = vectors @ np.array(embedded["data"][0]["embedding"])
    nearest = np.argsort(-products)[:5]
    hits = answer["results"][0]["hits"]
    assert [(int(hit["id"]), hit["text"]) for hit in hits] == [(i, f"text {i}") for i in nearest]
    assert [hit["score"] for hit in hits] == pytest.approx(products[nearest].tolist(), abs=1e-5)
