"""Who counts as the caller that the model is shared with, over real connections."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI

from semblance.service.api.edge.key_entries import KeyRing, entry_of
from semblance.service.api.edge.keys import Guard
from semblance.service.api.edge.middleware import EdgeMiddleware, EdgePolicy
from semblance.service.api.edge.request_body import BodyLimits
from semblance.service.callers import current_caller
from semblance.service.cli.serve import _uvicorn_config
from semblance.service.observability.metrics import Metrics
from semblance.service.settings import Settings

FORWARDED = {"x-forwarded-for": "203.0.113.5"}


@contextmanager
def serving(keys: str = "", trusted_proxies: str = "") -> Iterator[str]:
    """The URL of a server that answers with the caller."""
    app = FastAPI()
    policy = EdgePolicy(Guard(KeyRing(keys)))
    app.add_middleware(EdgeMiddleware, metrics=Metrics(), limits=BodyLimits(1000, 10, 60), policy=policy)

    @app.get("/models")
    async def caller() -> str:
        return current_caller()

    server = uvicorn.Server(_uvicorn_config(app, Settings(trusted_proxies=trusted_proxies)))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/models"
        finally:
            server.should_exit = True
            thread.join()


def caller(url: str, headers: dict[str, str], address: str = "127.0.0.1") -> str:
    with httpx2.Client(transport=httpx2.HTTPTransport(local_address=address)) as http:
        return str(http.get(url, headers=headers).json())


def test_a_caller_is_the_address_of_its_client() -> None:
    with serving() as url:
        assert caller(url, {}) == "127.0.0.1"
        assert caller(url, {}, "127.0.0.2") == "127.0.0.2"
        assert caller(url, FORWARDED) == "127.0.0.1", "anyone can claim to be a proxy"


@pytest.mark.parametrize("trusted", ["127.0.0.1", "10.0.0.0/8, 127.0.0.1/32"])
def test_a_trusted_proxy_names_the_client(trusted: str) -> None:
    with serving(trusted_proxies=trusted) as url:
        assert caller(url, FORWARDED) == "203.0.113.5"
        assert caller(url, FORWARDED, "127.0.0.2") == "127.0.0.2", "not a trusted one"


def test_a_caller_with_a_key_is_its_name() -> None:
    with serving(keys=entry_of("ci", ["read"], "secret")) as url:
        for address in ("127.0.0.1", "127.0.0.2"):
            assert caller(url, {"authorization": "Bearer secret"}, address) == "ci"
