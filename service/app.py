"""The composition root: the one place that names concrete classes, and that opens and closes them."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files

from fastapi import FastAPI

from semblance.models.errors import SemblanceError
from semblance.service.api import errors, openapi
from semblance.service.api.edge.checks import Edge
from semblance.service.api.edge.envelope import Envelope
from semblance.service.api.edge.keys import Guard, read_keys
from semblance.service.api.edge.request_body import BodyLimits
from semblance.service.api.routes import (
    collections,
    docs_page,
    documents,
    embeddings,
    explain,
    health,
    models,
    rollovers,
    search,
    similarity,
)
from semblance.service.api.services import Services
from semblance.service.batching.policy import Limits
from semblance.service.batching.worker import Worker
from semblance.service.caches.memory import MemoryCache
from semblance.service.caches.none import NoCache
from semblance.service.caches.redis import RedisCache, RedisLimits
from semblance.service.composition.stores import Held, held_collections
from semblance.service.model_loading.device import device_for, load
from semblance.service.model_loading.registry import LazyModels, read_served
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.documents import Document
from semblance.service.ports.embedding import EmbeddingCache
from semblance.service.process.readiness import Readiness
from semblance.service.process.shutdown import Draining
from semblance.service.rendering.drawing_process import DrawingProcess
from semblance.service.settings import Settings
from semblance.service.usecases.collections import Collections, NewCollection
from semblance.service.usecases.compare import Compare
from semblance.service.usecases.embed_documents import DocumentEmbedder
from semblance.service.usecases.embed_texts import TextEmbedder
from semblance.service.usecases.explain import Explain
from semblance.service.usecases.index_documents import IndexDocuments
from semblance.service.usecases.index_stream import IndexStream
from semblance.service.usecases.roll_over import RollOver
from semblance.service.usecases.search import Search
from semblance.service.usecases.vectors import Vectors

log = logging.getLogger(__name__)

ROUTERS = (similarity, search, explain, embeddings, collections, rollovers, documents, models, health)


def create_app(settings: Settings, draining: Draining | None = None) -> FastAPI:
    """The application with everything it needs; its lifespan opens and closes that.

    Args:
        settings: the whole of them.
        draining: set by the server when the process is to end; from then on every request is refused.

    Raises:
        BadKeys: the setting of the keys is malformed.
        BadCheckpoint: a served model's files are missing, damaged or not supported.
        NoSuchDevice: a served model needs the configured device, and torch cannot use it.
    """
    metrics = Metrics()
    draining = draining or Draining()
    readiness = Readiness()
    edge = _edge(settings, draining, readiness)
    served = _models(settings)
    opening = _open(settings, metrics, served, readiness, draining.fail)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            try:
                services = await stack.enter_async_context(opening)
            except SemblanceError as error:  # what follows in the log is for programmers
                log.critical("cannot serve: %s", error)
                raise
            app.state.services = services
            if settings.sample:
                await _load_sample(services)
            yield

    app = FastAPI(
        title="Semblance",
        summary="Sentence similarity and semantic search that show their work.",
        version=version("semblance-server"),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.add_middleware(Envelope, metrics=metrics, limits=_body_limits(settings), edge=edge)
    errors.install(app, metrics, [route for module in ROUTERS for route in module.router.routes])
    openapi.install(app, settings, list(served.files), edge.guard)
    docs_page.install(app)
    for module in ROUTERS:
        app.include_router(module.router)
    return app


def open_services(settings: Settings) -> AbstractAsyncContextManager[Services]:
    """The use cases without HTTP, at work for the time of the block. Raises as `create_app`, before it."""
    return _open(settings, Metrics(), _models(settings), Readiness(), lambda: None)


@asynccontextmanager
async def _open(
    settings: Settings, metrics: Metrics, served: LazyModels, readiness: Readiness, on_lost: Callable[[], None]
) -> AsyncIterator[Services]:
    limits = Limits(_batch_tokens(settings, served), settings.max_request_tokens, settings.max_queued_tokens)
    worker = Worker(limits, metrics, settings.idle_check_s, on_lost)
    cache = _cache(settings)
    drawing = DrawingProcess()
    try:
        await worker.watch(await served.load(served.default))  # loads and warms up; no request is answered before
        async with held_collections(settings, on_lost) as held:
            readiness.needed = {"model_answers": lambda: worker.answered_within(settings.ready_within_s), **held.needed}
            readiness.wanted = held.wanted
            texts = TextEmbedder(worker, cache, metrics, settings.max_text_chars)
            yield _services(settings, _Parts(metrics, served, held, texts, drawing, readiness))
    finally:
        drawing.close()
        worker.stop()
        await cache.close()


@dataclass(frozen=True, slots=True)
class _Parts:
    """What the use cases are made of."""

    metrics: Metrics
    served: LazyModels
    held: Held
    texts: TextEmbedder
    drawing: DrawingProcess
    readiness: Readiness


def _edge(settings: Settings, draining: Draining, readiness: Readiness) -> Edge:
    keys = read_keys(settings.api_keys.get_secret_value())
    return Edge(Guard(keys, settings.metrics_open), draining, readiness, settings.origins)


def _body_limits(settings: Settings) -> BodyLimits:
    return BodyLimits(settings.max_body_bytes, settings.body_pause_s, settings.body_timeout_s)


def _services(settings: Settings, parts: _Parts) -> Services:
    served, texts, metrics = parts.served, parts.texts, parts.metrics
    local = parts.held.collections
    of_collections = Collections(served, local)
    embedder = DocumentEmbedder(texts)
    index_documents = IndexDocuments(of_collections, local, embedder)
    return Services(
        settings=settings,
        models=served,
        local=local,
        collections=of_collections,
        compare=Compare(served, texts),
        search=Search(of_collections, local, texts, settings.max_scores),
        explain=Explain(of_collections, served, local, texts),
        index_documents=index_documents,
        index_stream=IndexStream(index_documents),
        roll_over=RollOver(served, of_collections, local, embedder),
        vectors=Vectors(served, texts),
        drawing=parts.drawing,
        metrics=metrics,
        readiness=parts.readiness,
        show_store=lambda: parts.held.show(metrics),
    )


async def _load_sample(services: Services) -> None:
    """The bundled questions and answers as the collection `default`, unless there are collections already."""
    if await services.collections.list():
        return
    lines = (files("semblance.service") / "sample" / "help_centre.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    await services.collections.create("default", NewCollection())
    indexed = await services.index_documents(
        "default", [Document(row["id"], row["text"], row["metadata"]) for row in rows]
    )
    log.info("collection default holds the sample: %d documents", indexed.upserted)


def _cache(settings: Settings) -> EmbeddingCache:
    match settings.cache:
        case "memory":
            return MemoryCache(settings.cache_bytes)
        case "redis":
            limits = RedisLimits(settings.redis_ttl_s, settings.redis_budget_s, settings.redis_max_value_bytes)
            return RedisCache(settings.redis_url.get_secret_value(), limits)
        case "none":
            return NoCache()


def _batch_tokens(settings: Settings, served: LazyModels) -> int:
    if settings.max_batch_tokens != "auto":
        return settings.max_batch_tokens
    return 16_384 if device_for(served.files.values(), settings).startswith("cuda") else 1024


def _models(settings: Settings) -> LazyModels:
    files = read_served(settings.models)
    device = device_for(files.values(), settings)
    return LazyModels(files, lambda name, each: load(name, each, device, settings), settings.model_wait_s)
