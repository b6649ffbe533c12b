"""Composition root without HTTP: opens models, cache and stores, and connects the use cases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from shutil import disk_usage

from semblance.models.model_files.cross_encoder import CrossEncoderFiles
from semblance.models.model_files.source import ModelFiles
from semblance.service.caches.memory import MemoryCache
from semblance.service.composition.encoding import open_worker
from semblance.service.composition.stores import Stores, open_stores
from semblance.service.composition.unserved import UnservedCollections
from semblance.service.files.sent_files import SentFiles
from semblance.service.model_loading.classifiers import served_classifiers
from semblance.service.model_loading.registry import LazyModels, read_truncations
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.embedding import EmbeddingCache
from semblance.service.process.readiness import Readiness
from semblance.service.rendering.png import DrawingProcess
from semblance.service.replication.limited_access import LimitedAccess
from semblance.service.replication.replica import running
from semblance.service.services import MetricsPage, Services
from semblance.service.settings import Settings
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.compare import Compare
from semblance.service.usecases.documents.by_filter import DocumentsByFilter
from semblance.service.usecases.documents.document_map import MapDocuments
from semblance.service.usecases.documents.duplicates import FindDuplicates
from semblance.service.usecases.documents.embed import DocumentEmbedder
from semblance.service.usecases.documents.index import IndexDocuments
from semblance.service.usecases.documents.index_stream import IndexStream
from semblance.service.usecases.documents.metadata import ChangeMetadata
from semblance.service.usecases.documents.store import StoreDocuments
from semblance.service.usecases.embed import Embed
from semblance.service.usecases.explain.best_passages import BestPassages
from semblance.service.usecases.explain.difference import ExplainDifference
from semblance.service.usecases.explain.explain import Explain
from semblance.service.usecases.glossaries import Glossaries
from semblance.service.usecases.paraphrases.caches import Caches
from semblance.service.usecases.paraphrases.nearest import JudgeNearest
from semblance.service.usecases.paraphrases.same import Same
from semblance.service.usecases.pruning.prune import Prune
from semblance.service.usecases.reembed import Reembedder
from semblance.service.usecases.request_fields import RequestLimits
from semblance.service.usecases.rerank import Rerank
from semblance.service.usecases.search.search import Search
from semblance.service.usecases.suggest import Suggest
from semblance.service.usecases.text_embedder import TextEmbedder


@asynccontextmanager
async def open_services(
    settings: Settings,
    models: LazyModels,
    metrics: Metrics | None = None,
    readiness: Readiness | None = None,
    on_lost: Callable[[], None] = lambda: None,
) -> AsyncIterator[Services]:
    """Open the services for the time of the block, with the default model loaded.

    Args:
        settings: all settings.
        models: the served models.
        metrics: where to count.
        readiness: receives the checks of the model and of the stores.
        on_lost: called if a device or the model thread fails for good.
    """
    metrics, readiness = metrics or Metrics(), readiness or Readiness()
    files: list[ModelFiles | CrossEncoderFiles] = [*models.files.values(), *models.rerankers.files.values()]
    worker = open_worker(settings, files, metrics, on_lost)
    cache = _cache(settings)
    drawing = DrawingProcess()
    try:
        await worker.watch(await models.load(models.default))
        async with open_stores(settings, on_lost) as stores:
            readiness.required = {
                "model_answers": partial(worker.answered_within, settings.ready_within_s),
                **stores.required,
            }
            unserved = UnservedCollections(stores.collections, models)

            def left_out() -> int:
                return len(stores.failed() | unserved.models_of.keys())

            def show(metrics: Metrics) -> None:
                stores.show(metrics)
                metrics.set_left_out(left_out())
                free_bytes = disk_usage(settings.home.expanduser()).free
                metrics.set_disk(writable=stores.optional["store_writable"](), free_bytes=free_bytes)

            readiness.optional = {
                "models_served": lambda: not models.refused,
                "collections": lambda: not left_out(),
                **stores.optional,
            }
            readiness.refused = lambda: models.refused
            truncations = read_truncations(settings.truncate, [*models.files, *models.refused])
            texts = TextEmbedder(worker, cache, metrics, settings.max_text_chars, truncations)
            use_cases = _use_cases(settings, models, stores, texts, metrics)
            page = MetricsPage(metrics, stores.collections, show)
            await unserved.look()
            async with running(unserved.keep_looking()):
                yield Services(settings, models, metrics, readiness, drawing, SentFiles(), page, *use_cases)
    finally:
        drawing.close()
        worker.stop()
        await cache.close()


def _use_cases(
    settings: Settings, models: LazyModels, stores: Stores, texts: TextEmbedder, metrics: Metrics
) -> list[object]:
    limits = RequestLimits.of(settings)
    classifiers = served_classifiers(settings.home.expanduser())
    access = LimitedAccess(stores.collections)  # no use case has the access without limits
    collections = Collections(models, access)
    embedder = DocumentEmbedder(texts)
    best_passages = BestPassages(collections, access, texts)
    duplicates = FindDuplicates(collections, access, texts, classifiers)
    index_documents = IndexDocuments(collections, access, embedder)
    by_filter = DocumentsByFilter(access, limits)
    nearest = JudgeNearest(collections, access, texts, classifiers)
    return [
        collections,
        index_documents,
        IndexStream(index_documents),
        Reembedder(models, collections, access, embedder),
        Compare(models, texts, models.calibrations, classifiers, limits),
        Search(collections, access, models.rerankers, texts, models.calibrations, limits),
        Suggest(access),
        Glossaries(access),
        by_filter,
        ChangeMetadata(access, limits),
        duplicates,
        StoreDocuments(index_documents, duplicates, limits),
        MapDocuments(access),
        Explain(models, best_passages, texts, models.calibrations, classifiers),
        ExplainDifference(best_passages),
        Embed(models, texts),
        Prune(models, texts, limits),
        Same(models, texts, classifiers, access, nearest, limits),
        Caches(nearest, index_documents, by_filter, metrics),
        Rerank(models, models.rerankers, texts, models.calibrations),
    ]


def _cache(settings: Settings) -> EmbeddingCache:
    match settings.cache:
        case "memory":
            return MemoryCache(settings.cache_bytes)
        case "redis":
            from semblance.service.caches.redis import RedisCache, RedisLimits  # noqa: PLC0415 - a slow import

            limits = RedisLimits(settings.redis_ttl_s, settings.redis_budget_s, settings.redis_max_value_bytes)
            return RedisCache(settings.redis_url.get_secret_value(), limits)
        case "none":
            return MemoryCache(0)  # stores nothing
