"""A route without FastAPI's way to its arguments answers whatever FastAPI would answer."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import httpx2
import pytest
from fastapi import APIRouter, FastAPI, Response
from fastapi.routing import APIRoute

from semblance.service.api import errors
from semblance.service.api.direct_route import DirectRoute
from semblance.service.api.schemas.embeddings import EmbeddingsRequest
from semblance.service.api.schemas.similarity import SimilarityRequest
from semblance.service.api.services import Use
from semblance.service.observability.metrics import Metrics

GOOD = {"pairs": [{"a": "a", "b": "b"}]}
JSON = {"content-type": "application/json"}

BODIES = [
    json.dumps(GOOD).encode(),
    json.dumps(GOOD).encode("utf-16"),
    json.dumps({"model": "m", "input": "text", "user": "ignored"}).encode(),
    b"",
    b"null",
    b"[]",
    b'"text"',
    b"{}",
    b"{",
    b'{"pairs": [}',
    b"\xff\xfe\xff",
    b'{"pairs": [{"a": "\xff"}]}',
    b'{"pairs": [{"a": "\\ud800", "b": "b"}]}',
    b"[" * 100_000,
    b'{"pairs": [{"a": 1, "b": null}], "explain": "yes", "more": 0}',
    b'{"pairs": [{"a": "a", "b": "b"}], "left": ["a"]}',
    b'{"model": "m", "input": [1, 2]}',
    b'{"model": "m", "input": [], "dimensions": 0, "truncate": "MIDDLE"}',
    json.dumps({f"field {i}": 0 for i in range(200)}).encode(),
]


def app(route_class: type[APIRoute]) -> FastAPI:
    router = APIRouter(route_class=route_class)

    @router.post("/similarity")
    async def similarity(body: SimilarityRequest, use: Use) -> Response:
        return Response(f"{use} {body!r}")

    @router.post("/v1/embeddings")
    async def embeddings(body: EmbeddingsRequest, use: Use) -> Response:
        return Response(f"{use} {body!r}")

    made, metrics = FastAPI(), Metrics()
    made.state.services = SimpleNamespace(name="the services")
    errors.install(made, metrics, router.routes)
    made.include_router(router)
    return made


async def answers(route_class: type[APIRoute], path: str, body: bytes) -> list[tuple[int, bytes, str]]:
    transport = httpx2.ASGITransport(app(route_class))
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as http:
        given = [await http.post(path, content=body, headers=JSON), await http.get(path)]
    return [(each.status_code, each.content, each.headers.get("content-type", "")) for each in given]


@pytest.mark.parametrize("path", ["/similarity", "/v1/embeddings"])
@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:40]))
def test_every_body_is_answered_as_fastapi_answers_it(path: str, body: bytes) -> None:
    ours, theirs = (asyncio.run(answers(each, path, body)) for each in (DirectRoute, APIRoute))
    assert ours == theirs
    assert ours[1][0] == 405


def test_some_of_these_bodies_are_taken_and_the_services_come_along() -> None:
    taken = [asyncio.run(answers(DirectRoute, "/similarity", body))[0] for body in BODIES[:2]]
    assert [status for status, *_ in taken] == [200, 200]
    assert all(b"the services" in content and b"pairs=[Pair" in content for _, content, _ in taken)


def test_it_is_documented_as_fastapi_documents_it() -> None:
    assert app(DirectRoute).openapi() == app(APIRoute).openapi()
