"""A search while its documents are being rewritten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from models.embeddings import unit_rows
from models.encoders.transformer import Transformer
from service.batching.policy import Limits
from service.batching.worker import Worker
from service.caches.none import NoCache
from service.documents.sql import SqlDocumentStore
from service.documents.sqlite import sqlite_engine
from service.indexes.index_folder import IndexFolder
from service.observability.metrics import Metrics
from service.ports import CollectionSettings, Document, DocumentStore, Embedded, Write
from service.served_models import LazyModels, read_checkpoints
from service.usecases.collections import Collections
from service.usecases.embed_texts import Given, TextEmbedder
from service.usecases.local_collections import LocalCollections
from service.usecases.search import Search, SearchFor

Result = TypeVar("Result")


class Intruding(LocalCollections):
    """Writes once between the look into the index and the look into the store."""

    intrusion: Callable[[], None] | None = None

    async def read(self, query: Callable[[DocumentStore], Result]) -> Result:
        if self.intrusion is not None and "_documents" in query.__qualname__:
            intrude, self.intrusion = self.intrusion, None
            intrude()
        return await super().read(query)


@pytest.fixture
def store(tmp_path: Path) -> SqlDocumentStore:
    return SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))


def test_a_hit_never_shows_one_text_with_the_score_of_another(
    store: SqlDocumentStore, minilm: Transformer, tmp_path: Path
) -> None:
    async def use() -> None:
        metrics = Metrics()
        worker = Worker(Limits(4096, 10_000, 10_000), metrics, idle_check_s=60)
        local = Intruding(store, IndexFolder(tmp_path / "indexes"))
        served = LazyModels(read_checkpoints("minilm"), lambda *_: minilm, 30)
        texts = TextEmbedder(worker, NoCache(), metrics, 1000)
        search = Search(Collections(served, local), local, texts, max_scores=100)
        settings = CollectionSettings("minilm", minilm.space, minilm.dim, "cosine", "exact", "none")
        embedded = await texts.embed(minilm, [Given("a cat", ""), Given("tax law", "")], "query", "pooled")
        vectors = [unit_rows(each.pooled()).astype(np.float32) for each in embedded.embeddings]

        def write(text: str, vector: int) -> None:
            embedded = Embedded(vectors[vector], truncated=False)
            store.upsert(store.collection("c"), [Write(Document("d", text, {}), embedded)])

        store.create("c", settings)
        write("a cat", 0)
        await local.follow("c")
        local.intrusion = lambda: write("tax law", 1)
        results = await search(SearchFor([Given("a cat", "/query")], "c", k=1, candidates=1, measure=None))
        hit = results.hits[0][0]
        assert hit.document.text == "tax law"
        assert hit.score == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-6)
        assert results.version == store.collection("c").version
        local.close()
        await asyncio.to_thread(worker.stop)

    asyncio.run(use())
