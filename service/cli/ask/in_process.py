"""The HTTP application in this process, for verbs that find no running service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from pydantic import SecretStr

from semblance.service.cli.toolbox.garbage import without_collections
from semblance.service.cli.toolbox.unused_models import unused_models
from semblance.service.composition.models import begin_models
from semblance.service.composition.stores import require_documents
from semblance.service.documents.databases.lock import lock_home
from semblance.service.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

# as for a service on this machine alone: who may read the home needs no key
_ALONE = {
    "host": "127.0.0.1",
    "allowed_hosts": "",
    "api_keys": SecretStr(""),
    "api_keys_file": None,
    "sample": False,
}


@contextmanager
def serving(settings: Settings, *, documents: bool) -> Iterator[httpx2.BaseTransport]:
    """Serve these settings to this process alone, with the lock on their home.

    Args:
        settings: of the service; those of addresses and keys are left out.
        documents: whether the home must have documents; otherwise a missing one is created.

    Raises:
        StoreInUse: another process has the lock.
        NoStore: the home has no documents.
        BadCheckpoint, StoreFailed and others: as at the start of a service.
    """
    if documents and not settings.database_url.get_secret_value():
        require_documents(settings)
    with lock_home(settings.home):
        app = _app(settings.model_copy(update=_ALONE))
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(app.router.lifespan_context(app)),
        ):
            yield _InProcess(portal, app)


def _app(settings: Settings) -> FastAPI:
    opening = begin_models(settings)
    with without_collections(), unused_models():
        from semblance.service.app import create_app  # noqa: PLC0415 - takes as long as the model
    return create_app(settings, models=opening.result())


class _InProcess(httpx2.BaseTransport):
    """Requests of a client without an event loop, answered by an application in another thread."""

    def __init__(self, portal: BlockingPortal, app: FastAPI) -> None:
        self._portal = portal
        self._application = httpx2.ASGITransport(app)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return self._portal.call(self._answer, request)

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self._application.handle_async_request(request)
        content = b"".join([part async for part in answer.stream])  # type: ignore[union-attr]  # of an async transport
        return httpx2.Response(answer.status_code, headers=answer.headers, content=content)
