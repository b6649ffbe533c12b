"""The composition root: the one place that names concrete classes, and that opens and closes them."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from importlib.resources import files

import torch
from fastapi import FastAPI

from models import catalogue
from models.checkpoint import Checkpoint
from models.encoders.transformer import Precision, Transformer
from service.api import (
    collections,
    docs,
    document,
    documents,
    embeddings,
    errors,
    explain,
    health,
    models,
    search,
    similarity,
)
from service.api.envelope import Envelope
from service.api.services import Services
from service.batching.policy import Limits
from service.batching.worker import Worker
from service.caches.memory import MemoryCache
from service.caches.none import NoCache
from service.documents.sql import SqlDocumentStore
from service.documents.sqlite import sqlite_engine
from service.errors import NoSuchDevice
from service.indexes.collection_index import CollectionIndex
from service.observability.metrics import Metrics
from service.ports import CollectionSettings, Document, EmbeddingCache, VectorIndex
from service.rendering.drawing_process import DrawingProcess
from service.served_models import LazyModels, read_checkpoints
from service.settings import Settings
from service.usecases.collections import Collections, NewCollection
from service.usecases.compare import Compare
from service.usecases.embed_texts import TextEmbedder
from service.usecases.explain import Explain
from service.usecases.index_documents import IndexDocuments
from service.usecases.local_collections import LocalCollections
from service.usecases.measures import DEFAULT_MEASURE
from service.usecases.search import Search
from service.usecases.vectors import Vectors

log = logging.getLogger(__name__)

ROUTERS = (similarity, search, explain, embeddings, collections, documents, models, health)


def create_app(settings: Settings) -> FastAPI:
    """The application with everything it needs; its lifespan opens and closes that.

    Raises:
        BadCheckpoint: a served model's files are missing, damaged or not supported.
        NoSuchDevice: torch cannot use the configured device.
    """
    metrics = Metrics()
    checkpoints = read_checkpoints(settings.models)
    device = _device(settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        worker = Worker(Limits(settings.batch_tokens), metrics, settings.idle_check_s)
        local = LocalCollections(SqlDocumentStore(sqlite_engine(settings.database)), _new_index)
        cache = _cache(settings)
        served = LazyModels(
            checkpoints, lambda name, files: _load(name, files, device, settings), settings.model_wait_s
        )
        app.state.services = services = _services(settings, metrics, served, worker, local, cache)
        try:
            await _start(services, worker)
            yield
        finally:
            services.drawing.close()
            local.close()
            worker.stop()
            await cache.close()

    app = FastAPI(
        title="Semblance",
        summary="Sentence similarity and semantic search that show their work.",
        version=version("semblance"),
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.add_middleware(Envelope, metrics=metrics, max_body_bytes=settings.max_body_bytes)
    errors.install(app, metrics, [route for module in ROUTERS for route in module.router.routes])
    document.install(app, settings, list(checkpoints))
    docs.install(app)
    for module in ROUTERS:
        app.include_router(module.router)
    return app


def _services(
    settings: Settings,
    metrics: Metrics,
    served: LazyModels,
    worker: Worker,
    local: LocalCollections,
    cache: EmbeddingCache,
) -> Services:
    texts = TextEmbedder(worker, cache, metrics, settings.max_text_chars)
    of_collections = Collections(served, local)
    return Services(
        settings=settings,
        models=served,
        local=local,
        collections=of_collections,
        compare=Compare(served, texts),
        search=Search(of_collections, local, texts, settings.max_matrix),
        explain=Explain(of_collections, served, local, texts),
        vectors=Vectors(served, texts),
        index_documents=IndexDocuments(of_collections, local, texts),
        drawing=DrawingProcess(),
        metrics=metrics,
        ready={"model_answers": lambda: worker.answered_within(settings.ready_within_s)},
    )


async def _start(services: Services, worker: Worker) -> None:
    """Load the default model, warm it up, and bring the indexes up to the store; requests are answered after that."""
    await worker.watch(await services.models.load(services.models.default))
    await services.local.follow_all()
    if services.settings.sample:
        await _load_sample(services)


async def _load_sample(services: Services) -> None:
    """The bundled questions and answers as the collection `default`, unless there are collections already."""
    if await services.collections.list():
        return
    lines = (files("service") / "sample" / "help_centre.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    await services.collections.create("default", NewCollection(None, DEFAULT_MEASURE, "faiss_flat", "none"))
    indexed = await services.index_documents(
        "default", [Document(row["id"], row["text"], row["metadata"]) for row in rows]
    )
    log.info("collection default holds the sample: %d documents", indexed.upserted)


def _cache(settings: Settings) -> EmbeddingCache:
    match settings.cache:
        case "memory":
            return MemoryCache(settings.cache_bytes)
        case "none":
            return NoCache()


def _device(settings: Settings) -> str:
    if settings.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=settings.device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise NoSuchDevice(f"SEMBLANCE_DEVICE: torch cannot use {settings.device!r}: {reason}") from error
    return settings.device


def _load(name: str, checkpoint: Checkpoint, device: str, settings: Settings) -> Transformer:
    on_device: Precision = "bfloat16" if device.startswith("cuda") else "float32"
    precision = on_device if settings.precision == "auto" else settings.precision
    log.info("loading model %s on %s in %s", name, device, precision)
    return Transformer(name, checkpoint, device, precision)


def _new_index(settings: CollectionSettings, epoch: str) -> VectorIndex:
    engine = catalogue.find("service.indexes.engines", settings.index)
    return CollectionIndex(engine(settings.dim), epoch)
