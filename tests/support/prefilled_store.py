"""Fill the store of a service with documents and existing vectors; encodes no text."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import httpx2

from semblance.models.embeddings import Floats
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.ports.documents import Document, Write
from semblance.service.replication.local_node import LocalNode
from semblance.service.settings import Settings
from tests.support.running_service import Service
from tests.support.vectors import one_passage

PAGE = 2048  # documents per transaction


def fill_collection(service: Service, home: Path, name: str, texts: Sequence[str], vectors: Floats) -> Path:
    """Create a collection in a stopped service and return the file of its index.

    Args:
        service: the service; its first model counts as the encoder, and it is started briefly to create the collection.
        home: home folder of the service.
        name: name of the new collection.
        texts: the documents; their positions are their ids and their rows in the index.
        vectors: (n, d) unit-length vector of each text.
    """
    service.start()
    httpx2.put(f"{service.url}/collections/{name}", json={}, timeout=600).raise_for_status()
    service.stop()
    settings = Settings(home=home)
    store = SqlDocumentStore(sqlite_engine(settings.database_file))
    local = LocalNode(store, IndexFolder(settings.snapshot_folder))
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
    padded = f"{number:09}"  # an index adds the documents of a transaction in the order of their ids
    return Write(Document(padded, text, {}), one_passage(vector))
