"""The HTTP application: routes, middleware, error handlers, and the services' lifespan."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from importlib.metadata import version
from importlib.resources import files

from fastapi import FastAPI
from opentelemetry.trace import TracerProvider
from semblance_client.vocabulary.collections import CollectionRequest

from semblance.service.api import errors
from semblance.service.api.edge.drain import is_monitoring
from semblance.service.api.edge.key_entries import KeyRing
from semblance.service.api.edge.keys import Guard
from semblance.service.api.edge.origins import AllowedHosts, AllowedOrigins
from semblance.service.api.edge.request_body import BodyLimits
from semblance.service.api.edge.stack import Edge, EdgePolicy
from semblance.service.api.exact_paths import ExactPaths
from semblance.service.api.openapi import document as openapi
from semblance.service.api.routes import ROUTERS, docs_page, help_pages, playground
from semblance.service.composition.models import served_models
from semblance.service.composition.services import open_services
from semblance.service.errors import NotReady
from semblance.service.model_loading.registry import LazyModels
from semblance.service.observability.metrics import Metrics
from semblance.service.observability.tracing import NOT_TRACED, telemetry_config
from semblance.service.ports.documents import Document
from semblance.service.process.readiness import Draining, Readiness
from semblance.service.services import Services
from semblance.service.settings import Settings
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.documents.index import IndexDocuments

log = logging.getLogger(__name__)
NAMED_COLLECTIONS = 10  # in the log at the start
RETRY_S = 1.0


def create_app(
    settings: Settings,
    draining: Draining | None = None,
    on_failed_start: Callable[[Exception], None] = lambda _: None,
    tracers: TracerProvider = NOT_TRACED,
    models: LazyModels | None = None,
) -> FastAPI:
    """Create the application.

    Args:
        settings: all settings.
        draining: set by the server at shutdown, from when every request is rejected.
        on_failed_start: called with the error if the services cannot be opened, before the server gets to see it.
        tracers: of the spans of requests.
        models: the served models; by default those of the settings.

    Raises:
        BadKeys: the keys are malformed.
        BadCheckpoint: the files of a served model are missing, damaged or not supported.
        NoSuchDevice: a served model needs the configured device, and torch cannot use it.
    """
    metrics, readiness, draining = Metrics(), Readiness(), draining or Draining()
    keys = KeyRing(settings.api_keys.get_secret_value(), settings.api_keys_file)
    guard = Guard(keys, settings.metrics_open)
    models = models or served_models(settings)
    opening = partial(open_services, settings, models, metrics, readiness, draining.fail)
    prepare = partial(_prepare, settings, models, metrics)
    app = FastAPI(
        title="Semblance",
        summary="Sentence similarity and semantic search that show their work.",
        version=version("semblance-server"),
        lifespan=partial(_lifespan, opening, prepare, on_failed_start),
        telemetry=telemetry_config(tracers, exclude=is_monitoring),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=openapi.operation_id,
    )
    app.state.keys = keys  # for a server that reads them again
    limits = BodyLimits(
        settings.max_body_bytes, settings.body_pause_s, settings.body_timeout_s, settings.max_file_bytes
    )
    policy = EdgePolicy(guard, AllowedHosts(settings.hosts), draining, readiness, AllowedOrigins(settings.origins))
    app.add_middleware(Edge, metrics=metrics, limits=limits, policy=policy, tracers=tracers)
    routes = [route for router in ROUTERS for route in router.routes]
    app.router.routes.insert(0, ExactPaths(routes))
    errors.install(app, metrics, routes)
    openapi.install(app, settings, models.names, models.rerankers.names, guard)
    docs_page.install(app)
    help_pages.install(app, f"{playground.install(app)}/style.css")
    for router in ROUTERS:
        app.include_router(router)
    return app


@asynccontextmanager
async def _lifespan(
    opening: Callable[[], AbstractAsyncContextManager[Services]],
    prepare: Callable[[Services], Awaitable[None]],
    on_failed_start: Callable[[Exception], None],
    app: FastAPI,
) -> AsyncIterator[None]:
    """The services, opened and prepared, as the state of the application."""
    async with AsyncExitStack() as stack:
        try:
            app.state.services = await stack.enter_async_context(opening())
            await prepare(app.state.services)
        except Exception as error:
            await stack.aclose()
            on_failed_start(error)
            raise
        yield


async def _prepare(settings: Settings, models: LazyModels, metrics: Metrics, services: Services) -> None:
    """Count the build of the default model, store the sample if wanted, log other models."""
    metrics.set_build(models.default, models.loaded()[models.default].build)
    if settings.sample:
        await _when_ready(lambda: _store_sample(services))
    await _when_ready(lambda: _log_other_models(services, models))


async def _when_ready(act: Callable[[], Awaitable[None]]) -> None:
    """Run `act`, again while a replica replaces its copy, which was found to be damaged."""
    while True:
        try:
            return await act()
        except NotReady as error:
            log.warning("the start waits: %s", error)
            await asyncio.sleep(RETRY_S)


async def _store_sample(services: Services) -> None:
    """Store the bundled sample as the collection `default`, unless there are collections."""
    if (await services[Collections].list()).collections:
        return
    lines = (files("semblance.service") / "sample" / "help_centre.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    log.info("storing the sample: %d documents in the collection default", len(rows))
    await services[Collections].create("default", CollectionRequest())
    documents = [Document(row["id"], row["text"], row["metadata"]) for row in rows]
    result = await services[IndexDocuments].store("default", documents)
    log.info("stored the sample: %d documents", result.upserted)


async def _log_other_models(services: Services, models: LazyModels) -> None:
    """Log which collections use another served model than the default, such as after an upgrade."""
    default = models.default
    collections = (await services[Collections].list()).collections
    others = [each.name for each in collections if each.model != default and models.serves(each.model, each.space)]
    if others:
        log.info(
            "collections with another model than the default, %s: %s; `semblance index reembed NAME --model %s` "
            "moves one to it",
            default,
            ", ".join(others[:NAMED_COLLECTIONS]) + (" ..." if len(others) > NAMED_COLLECTIONS else ""),
            default,
        )
