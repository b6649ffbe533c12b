"""The use cases of one service process, on a store of documents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from semblance.models.protocols import Encoder
from semblance.service.batching.policy import Limits
from semblance.service.batching.worker import Worker
from semblance.service.caches.memory import MemoryCache
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import UnknownModel
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.model_loading.rerankers import NO_RERANKERS
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.embedding import ModelChoice
from semblance.service.replication.limited_access import LimitedAccess
from semblance.service.settings import Settings
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.documents.by_filter import DocumentsByFilter
from semblance.service.usecases.documents.document_map import MapDocuments
from semblance.service.usecases.documents.duplicates import FindDuplicates
from semblance.service.usecases.documents.embed import DocumentEmbedder
from semblance.service.usecases.documents.index import IndexDocuments
from semblance.service.usecases.documents.metadata import ChangeMetadata
from semblance.service.usecases.explain.best_passages import BestPassages
from semblance.service.usecases.explain.explain import Explain
from semblance.service.usecases.glossaries import Glossaries
from semblance.service.usecases.reembed import Reembedder
from semblance.service.usecases.request_fields import RequestLimits
from semblance.service.usecases.search.search import Search
from semblance.service.usecases.text_embedder import TextEmbedder
from tests.support.interrupted_node import InterruptedNode

LIMITS = RequestLimits.of(Settings())


class StaticModels:
    """Serves encoders under their names, the first by default."""

    def __init__(self, *encoders: Encoder) -> None:
        self._encoders = {each.name: each for each in reversed(encoders)}
        self._encoders[""] = encoders[0]

    def resolve(self, name: str | None) -> ModelChoice:
        return ModelChoice(name, None)

    async def get(self, name: str | None) -> Encoder:
        if (name or "") not in self._encoders:
            raise UnknownModel(f"no model {name!r} is served")
        return self._encoders[name or ""]


class OneService:
    """The use cases, whose requests may be interrupted, and have the limits of their caller."""

    def __init__(self, store: SqlDocumentStore, folder: Path, *encoders: Encoder) -> None:
        models = StaticModels(*encoders)
        self.worker = Worker(Limits(4096, 10_000, 10_000), Metrics(), idle_check_s=60)
        self.store, self.local = store, InterruptedNode(store, IndexFolder(folder / "indexes"))
        self.access = access = LimitedAccess(self.local)
        self.texts = texts = TextEmbedder(self.worker, MemoryCache(1 << 20), Metrics(), 1000)
        self.collections = collections = Collections(models, access)
        self.index = IndexDocuments(collections, access, DocumentEmbedder(texts))
        self.glossaries = Glossaries(access)
        self.reembedder = Reembedder(models, collections, access, DocumentEmbedder(texts))
        self.search = Search(collections, access, NO_RERANKERS, texts, {}, LIMITS)
        self.best_passages = BestPassages(collections, access, texts)
        self.explain = Explain(models, self.best_passages, texts, {}, {})
        self.duplicates = FindDuplicates(collections, access, texts, {})
        self.by_filter = DocumentsByFilter(access, LIMITS)
        self.change = ChangeMetadata(access, LIMITS)
        self.map = MapDocuments(access)


ServiceT = TypeVar("ServiceT", bound=OneService)


@asynccontextmanager
async def running(service: ServiceT) -> AsyncIterator[ServiceT]:
    """Run a service until the block ends, which closes its store."""
    try:
        yield service
    finally:
        await asyncio.to_thread(service.local.close)
        await asyncio.to_thread(service.worker.stop)
