"""Who counts as the caller that the model is shared with, over real connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
from fastapi import FastAPI

from semblance.service.api.edge.key_entries import KeyRing, entry_of
from semblance.service.api.edge.keys import Guard
from semblance.service.api.edge.request_body import BodyLimits
from semblance.service.api.edge.stack import Edge, EdgePolicy
from semblance.service.callers import current_caller
from semblance.service.observability.metrics import Metrics
from semblance.service.settings import Settings
from tests.integration.edge.conftest import serving

FORWARDED = {"x-forwarded-for": "203.0.113.5"}


@contextmanager
def telling(keys: str = "", trusted_proxies: str = "") -> Iterator[str]:
    """The URL of a route that answers with the caller."""
    app = FastAPI()
    policy = EdgePolicy(Guard(KeyRing(keys)))
    app.add_middleware(Edge, metrics=Metrics(), limits=BodyLimits(1000, 600, 600), policy=policy)

    @app.get("/models")
    async def caller() -> str:
        return current_caller()

    with serving(app, Settings(trusted_proxies=trusted_proxies)) as url:
        yield f"{url}/models"


def caller(url: str, headers: dict[str, str], address: str = "127.0.0.1") -> str:
    with httpx2.Client(transport=httpx2.HTTPTransport(local_address=address), timeout=120) as http:
        return str(http.get(url, headers=headers).json())


def test_a_caller_is_the_address_of_its_client() -> None:
    with telling() as url:
        assert caller(url, {}) == "127.0.0.1"
        assert caller(url, {}, "127.0.0.2") == "127.0.0.2"
        assert caller(url, FORWARDED) == "127.0.0.1", "anyone can claim to be a proxy"


@pytest.mark.parametrize("trusted", ["127.0.0.1", "10.0.0.0/8, 127.0.0.1/32"])
def test_a_trusted_proxy_names_the_client(trusted: str) -> None:
    with telling(trusted_proxies=trusted) as url:
        assert caller(url, FORWARDED) == "203.0.113.5"
        assert caller(url, FORWARDED, "127.0.0.2") == "127.0.0.2", "not a trusted one"


def test_a_caller_with_a_key_is_its_name() -> None:
    with telling(keys=entry_of("ci", ["read"], "secret")) as url:
        for address in ("127.0.0.1", "127.0.0.2"):
            assert caller(url, {"authorization": "Bearer secret"}, address) == "ci"
