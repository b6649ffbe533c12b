"""A replica whose Milvus is away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.project import PROJECT
from tests.support.running_service import running_process
from tests.support.servers.milvus_server import MilvusServer
from tests.support.servers.word_models import WORDS, write_model
from tests.support.waiting import until

pytestmark = [pytest.mark.waits, pytest.mark.nightly]  # pymilvus waits a minute before it connects again


def search(http: httpx2.Client, **options: Any) -> Any:
    """Ids of the hits, or the code of the refusal."""
    answer = http.post("/search", json={"query": WORDS[3], "collection": "c", "k": 100, **options})
    body = answer.json()
    return {hit["id"] for hit in body["results"][0]["hits"]} if answer.is_success else body["code"]


def store(http: httpx2.Client, doc_id: str) -> str:
    """Store a document, and see that it can be read."""
    body = {"documents": [{"id": doc_id, "text": WORDS[3]}]}
    until(lambda: http.post("/collections/c/documents", json=body).is_success)
    return str(http.get(f"/collections/c/documents/{doc_id}").raise_for_status().json()["version"])


def test_without_milvus_documents_are_served_and_searches_refused(
    postgres: str, milvus_server: MilvusServer, tmp_path: Path
) -> None:
    """From a start with an address at which nothing answers, until Milvus answers; and again after it was killed."""
    milvus_server.kill()
    settings = {
        "models": f"words={write_model(tmp_path / 'words.npz', seed=0)}",
        "database_url": postgres,
        "database_timeout_s": "3",  # also of calls of Milvus
        "min_version_wait_s": "60",
        "index_url": milvus_server.url,
    }
    with (
        running_process(PROJECT, tmp_path, **settings) as service,
        httpx2.Client(base_url=service.url, timeout=120) as http,
    ):
        until(lambda: http.put("/collections/c").is_success)
        stored = set()
        for doc_id in ("before", "after"):
            version = store(http, doc_id)
            stored.add(doc_id)
            until(lambda: search(http) == "index_unavailable")
            ready = http.get("/ready").json()
            assert (ready["status"], ready["checks"]["index_reachable"]) == ("degraded", False)
            milvus_server.start()
            until(lambda version=version: search(http, min_version=version) == stored)  # type: ignore[misc]
            until(lambda: http.get("/ready").json()["status"] == "ready")
            milvus_server.kill()
        assert "the index fails" in service.log.read_text()
