"""Searches for duplicates during replacements of their collection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from semblance.models.encoders.transformer import Transformer
from semblance.service.batching.policy import Limits
from semblance.service.batching.worker import Worker
from semblance.service.caches.memory import MemoryCache
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import WriteConflict
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.model_loading.registry import LazyModels, read_served
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.documents import CollectionSettings, CutDocuments, Document, Write
from semblance.service.replication.local_node import LocalNode
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.documents.duplicates import ATTEMPTS, DuplicateParams, FindDuplicates
from semblance.service.usecases.embed import TextEmbedder
from tests.support.vectors import one_passage, unit_vector


class InterruptedStore(SqlDocumentStore):
    """Writes between the search in the index and the read of the documents."""

    interruption: Callable[[], None] = staticmethod(lambda: None)

    def get_cut(self, name: str, ids: Sequence[str]) -> CutDocuments:
        self.interruption()
        return super().get_cut(name, ids)


@pytest.mark.parametrize("replacements", [1, ATTEMPTS])
async def test_a_search_begins_again_when_the_collection_is_recreated(
    minilm: Transformer, tmp_path: Path, replacements: int
) -> None:
    store = InterruptedStore(sqlite_engine(tmp_path / "documents.sqlite"))
    local = LocalNode(store, IndexFolder(tmp_path / "indexes"))
    metrics = Metrics()
    texts = TextEmbedder(Worker(Limits(4096, 10_000, 10_000), metrics, idle_check_s=60), MemoryCache(0), metrics, 1000)
    collections = Collections(LazyModels(read_served("minilm"), lambda *_: minilm, 30), local)
    find = FindDuplicates(collections, local, texts)

    def fill(*ids: str) -> None:
        space = minilm.space
        store.create("c", CollectionSettings("minilm", space, minilm.dim, "cosine", "exact", "none"))
        twin = one_passage(unit_vector(0, minilm.dim))
        store.upsert(store.collection("c"), [Write(Document(each, each, {}), twin) for each in ids])

    def replace() -> None:
        nonlocal replacements
        if replacements:
            replacements -= 1
            store.drop("c")
            fill("new-1", "new-2", "new-3")

    fill("old-1", "old-2")
    await local.refresh_index("c")
    store.interruption = replace
    params = DuplicateParams("c", threshold=0.9, limit=100)
    if replacements < ATTEMPTS:
        _, [group] = await find.all_groups(params)
        assert [each.id for each in group] == ["new-1", "new-2", "new-3"]
    else:
        with pytest.raises(WriteConflict, match="'c' was recreated during the search; retry"):
            await find.all_groups(params)
    local.close()
