"""JsonRoute answers exactly like a route of FastAPI."""

from __future__ import annotations

import json
from decimal import Decimal
from unittest.mock import AsyncMock

import httpx2
import pytest
from fastapi import APIRouter, FastAPI, Response
from fastapi.routing import APIRoute
from semblance_client.vocabulary.similarity import SimilarityRequest
from starlette.requests import ClientDisconnect
from starlette.types import Message

from semblance.service.api import errors
from semblance.service.api.other_apis.openai import EmbeddingsRequest
from semblance.service.api.routing import JsonRoute, Use
from semblance.service.observability.metrics import Metrics
from semblance.service.services import Services

VALID = {"pairs": [{"a": "a", "b": "b"}]}
SERVICE = Decimal("1.5")  # any object; services are found by their type
JSON = {"content-type": "application/json"}
HEADERS = [(name.encode(), value.encode()) for name, value in JSON.items()]

BODIES = [
    json.dumps(VALID).encode(),
    json.dumps(VALID).encode("utf-16"),
    json.dumps({"model": "m", "input": "text", "user": "ignored"}).encode(),
    b"",
    b"null",
    b"{}",
    b"{",
    b"\xff\xfe\xff",
    b'{"pairs": [{"a": "\xff"}]}',
    b'{"pairs": [{"a": "\\ud800", "b": "b"}]}',
    b"[" * 100_000,
    b'{"pairs": [{"a": 1, "b": null}], "explain": "yes", "more": 0}',
    b'{"pairs": [{"a": "a", "b": "b"}], "left": ["a"]}',
    b'{"model": "m", "input": [1, 2]}',
    b'{"model": "m", "input": [], "dimensions": -1, "truncate": "MIDDLE"}',
    json.dumps({f"field {i}": 0 for i in range(200)}).encode(),
]


def app(route_class: type[APIRoute]) -> FastAPI:
    router = APIRouter(route_class=route_class)

    @router.post("/similarity")
    async def similarity(body: SimilarityRequest, service: Use[Decimal]) -> Response:
        return Response(f"{service} {body!r}")

    @router.post("/v1/embeddings")
    async def embeddings(body: EmbeddingsRequest, service: Use[Decimal], same: Use[Decimal]) -> Response:
        return Response(f"{service} {same} {body!r}")

    application, metrics = FastAPI(), Metrics()
    application.state.services = Services(SERVICE)
    errors.install(application, metrics, router.routes)
    application.include_router(router)
    return application


@pytest.fixture(scope="module")
def apps() -> list[FastAPI]:
    """Ours, and that of FastAPI."""
    return [app(each) for each in (JsonRoute, APIRoute)]


async def test_a_client_that_leaves_within_its_body_is_no_error(apps: list[FastAPI]) -> None:
    scope = {"type": "http", "method": "POST", "path": "/similarity", "query_string": b"", "headers": HEADERS}
    for application in apps:
        begun: Message = {"type": "http.request", "body": b'{"pairs', "more_body": True}
        receive = AsyncMock(side_effect=[begun, {"type": "http.disconnect"}])
        with pytest.raises(ClientDisconnect):
            await application({**scope, "app": application}, receive, AsyncMock())


async def answers(application: FastAPI, path: str, body: bytes) -> list[tuple[int, bytes, str]]:
    transport = httpx2.ASGITransport(application)
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as http:
        answered = [await http.post(path, content=body, headers=JSON), await http.get(path)]
    return [(each.status_code, each.content, each.headers.get("content-type", "")) for each in answered]


@pytest.mark.parametrize("path", ["/similarity", "/v1/embeddings"])
@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:40]))
async def test_every_body_is_answered_as_by_fastapi(apps: list[FastAPI], path: str, body: bytes) -> None:
    ours, theirs = [await answers(each, path, body) for each in apps]
    assert ours == theirs
    assert ours[1][0] == 405


async def test_valid_bodies_reach_the_handler_with_its_services(apps: list[FastAPI]) -> None:
    accepted = [(await answers(apps[0], "/similarity", body))[0] for body in BODIES[:2]]
    assert [status for status, *_ in accepted] == [200, 200]
    assert all(b"1.5" in content and b"pairs=[Pair" in content for _, content, _ in accepted)


def test_documentation_equals_that_of_fastapi(apps: list[FastAPI]) -> None:
    ours, theirs = [each.openapi() for each in apps]
    assert ours == theirs
