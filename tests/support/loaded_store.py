"""A store that is filled with vectors that are there already, through the ports: no text is encoded for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import httpx2

from semblance.models.embeddings import Floats
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import Document, Embedded, Write
from semblance.service.replication.local_node import LocalCollections
from semblance.service.settings import Settings
from tests.support.running_service import Service

PAGE = 2048  # documents of a transaction


def fill(service: Service, home: Path, name: str, texts: Sequence[str], vectors: Floats) -> Path:
    """Give a service that does not run a collection of those documents, and the index of them: the file of its rows.

    Args:
        service: whose first model is taken to have made the vectors; it is started for that moment.
        home: the folder of its documents.
        name: of the collection, which is not there.
        texts: the documents, whose ids are their numbers; so are those of their rows in the index.
        vectors: (n, d) one a text, at unit length.
    """
    service.start()
    httpx2.put(f"{service.url}/collections/{name}", json={}, timeout=60).raise_for_status()
    service.stop()
    settings = Settings(home=home)
    store = SqlDocumentStore(sqlite_engine(settings.database_file))
    local = LocalCollections(store, IndexFolder(settings.snapshot_folder))
    try:
        collection = store.collection(name)
        for start in range(0, len(texts), PAGE):
            numbers = range(start, min(start + PAGE, len(texts)))
            store.upsert(collection, [_write(i, texts[i], vectors[i]) for i in numbers])
        asyncio.run(local.rebuild(name))
    finally:
        local.close()
    return next((settings.snapshot_folder / name).glob("index-*"))


def _write(number: int, text: str, vector: Floats) -> Write:
    padded = f"{number:09}"  # an index takes the documents of a transaction in the order of their ids
    return Write(Document(padded, text, {}), Embedded(vector, truncated=False))
