"""Stateless replicas in this process, on a real PostgreSQL and a real server of an index."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import numpy as np

from semblance.models.embeddings import Floats
from semblance.service.documents.database import DatabaseHealth
from semblance.service.documents.databases.index_marks import LockedMarks, StoredMarks
from semblance.service.documents.databases.postgresql import Notifications, postgresql_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import IndexUnavailable, StoreUnavailable, VersionNotReached
from semblance.service.filters import Filter, matches
from semblance.service.indexes.remote.milvus_address import MilvusAddress
from semblance.service.indexes.remote.milvus_index import MilvusIndex
from semblance.service.ports.document_store import DocumentStore
from semblance.service.ports.documents import CollectionSettings, Document, DocumentEmbedding, Version, Write
from semblance.service.ports.indexes import Hit
from semblance.service.ports.remote_index import RemoteCollection, RemoteIndex
from semblance.service.replication.primary import Primary, Timeouts
from semblance.service.replication.stateless.stateless_replica import StatelessReplica
from tests.support.waiting import eventually

DIM = 8
SETTINGS = CollectionSettings("minilm", "space", DIM, "cosine", "exact", "none")
THREADS = 4  # of a replica
NEVER_S = 600.0  # a timeout that no test reaches
TIMEOUTS = Timeouts(write_s=NEVER_S, poll_s=0.1, version_s=NEVER_S, lag_s=NEVER_S)


@asynccontextmanager
async def stateless_replica(
    database: str, milvus: str, timeouts: Timeouts = TIMEOUTS, *, follows: bool = True
) -> AsyncIterator[StatelessReplica]:
    """A replica until the block ends; one that does not follow the primary never fills the index."""
    health = DatabaseHealth(timeouts.write_s)
    engine = postgresql_engine(database, 9, timeouts.write_s)
    store, notices = SqlDocumentStore(engine, health), Notifications(database, timeouts.write_s)
    primary = Primary(store, health, notices, THREADS, timeouts)
    index = MilvusIndex(MilvusAddress.parse(milvus), timeouts.write_s)
    made = StatelessReplica(primary, StoredMarks(engine, health), LockedMarks(engine), index, THREADS)
    await made.start()
    following = asyncio.create_task(made.keep_following() if follows else asyncio.sleep(0))  # or no task
    try:
        yield made
    finally:
        following.cancel()
        await asyncio.to_thread(made.close)
        await asyncio.gather(following, return_exceptions=True)


def upsert(doc_id: str, vectors: Floats, metadata: Mapping[str, Any]) -> Callable[[DocumentStore], Version]:
    """A write of a document with (p, d) vectors."""
    text = "x" * len(vectors)
    spans = None if len(vectors) == 1 else np.array([[i, i + 1] for i in range(len(vectors))], np.int32)
    write = Write(Document(doc_id, text, metadata), DocumentEmbedding(vectors, truncated=False, spans=spans))
    return lambda store: store.upsert(store.collection("c"), [write])


async def search(
    one: StatelessReplica,
    query: Floats,
    k: int,
    where: Filter | None = None,
    at: Version | None = None,
    passages: int = 1,
) -> list[Hit]:
    _, index = await one.current("c", at)
    _, [hits] = await one.search(lambda _: index.search(query[None], k, where, passages))
    return hits


def exhaustive(store: DocumentStore, query: Floats, k: int, where: Filter | None) -> list[tuple[str, float]]:
    """The k best documents of the primary and their scores, compared one by one."""
    collection = store.collection("c")
    ids = [each.id for each in store.scan("c", "", 10_000)[0]]
    _, states = store.vector_states("c", ids, collection.settings.generation)
    scores = {
        doc_id: max(float(each @ query) for each in state.vectors)
        for doc_id, state in states.items()
        if state.vectors is not None and (where is None or matches(where, state.metadata))
    }
    return sorted(scores.items(), key=lambda each: (-each[1], each[0]))[:k]


async def eventually_holds(look: Callable[[], bool | Awaitable[bool]]) -> None:
    """Wait until something holds; it does not while the index or the database is away."""

    async def holds() -> bool:
        try:
            now = look()
            return now if isinstance(now, bool) else await now
        except (IndexUnavailable, StoreUnavailable, VersionNotReached):
            return False

    await eventually(holds)


@contextmanager
def server_index(milvus: str) -> Iterator[MilvusIndex]:
    index = MilvusIndex(MilvusAddress.parse(milvus), NEVER_S)
    try:
        yield index
    finally:
        index.close()


@contextmanager
def short_calls(index: RemoteIndex) -> Iterator[None]:
    """Let calls of a server that is away, or hangs, fail soon."""
    assert isinstance(index, MilvusIndex)
    before, index._timeout_s = index._timeout_s, 0.5
    yield
    index._timeout_s = before


def passages_in(milvus: str, store: DocumentStore) -> int:
    with server_index(milvus) as index:
        return index.count(RemoteCollection.of(store.collection("c")))
