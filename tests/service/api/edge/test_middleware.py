"""Unexpected errors, disconnects, shutdown and headers, as the middleware handles them."""

from __future__ import annotations

import asyncio
import logging
import re

import httpx2
import pytest
from fastapi import FastAPI
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from semblance.service.api import errors
from semblance.service.api.edge.key_entries import KeyRing, entry_of
from semblance.service.api.edge.keys import Guard
from semblance.service.api.edge.request_body import BodyLimits
from semblance.service.api.edge.request_log import SECURITY_HEADERS
from semblance.service.api.edge.stack import Edge, EdgePolicy
from semblance.service.observability.metrics import Metrics
from semblance.service.observability.stages import STAGES
from semblance.service.process.readiness import Draining
from tests.support.waiting import CEILING_S

LIMITS = BodyLimits(max_bytes=1000, pause_s=600, timeout_s=600)
UNREAD: Message = {"type": "http.request", "body": b"", "more_body": False}


def client_of(app: ASGIApp) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test")


def edge(app: ASGIApp, policy: EdgePolicy = EdgePolicy()) -> Edge:  # noqa: B008 - frozen
    return Edge(app, Metrics(), LIMITS, policy)


def receiving(*messages: Message, pauses: int = 0) -> Receive:
    """Messages of a client that leaves after some turns of the event loop."""
    left = list(messages)

    async def receive() -> Message:
        if left:
            return left.pop(0)
        for _ in range(pauses):
            await asyncio.sleep(0)  # other tasks run meanwhile
        return {"type": "http.disconnect"}

    return receive


async def no_answer(message: Message) -> None:
    raise AssertionError(message)


def hanging(cancelled: list[Message | None], *, reads: bool = True) -> ASGIApp:
    """A route that never ends, and adds what it read when it is cancelled."""

    async def hang(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, send
        message = await receive() if reads else None
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(message)
            raise

    return hang


async def test_an_unexpected_error_is_opaque_and_logged_with_its_id(caplog: pytest.LogCaptureFixture) -> None:
    app, metrics = FastAPI(), Metrics()
    app.add_middleware(Edge, metrics=metrics, limits=LIMITS)
    errors.install(app, metrics, app.routes)

    @app.get("/fails")
    async def fails(secret: str) -> None:
        raise RuntimeError(f"password {secret}")

    with caplog.at_level(logging.INFO):
        async with client_of(app) as client:
            answer = await client.get("/fails", params={"secret": "hunter2"})
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "internal_error"
    assert "hunter2" not in answer.text
    assert answer.headers["x-request-id"] in answer.json()["detail"]
    access = [record for record in caplog.records if record.name == "service.access"]
    assert [record.getMessage() for record in access] == ["GET /fails 500"], "the query string stays out of the log"
    assert 'semblance_requests_total{method="GET",route="/fails",status="500"} 1.0' in metrics.exposition().decode()


async def test_errors_and_shutdown_under_v1_have_the_shape_of_openai() -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive, send
        raise RuntimeError("hunter2")

    draining = Draining()
    async with client_of(edge(fails, EdgePolicy(draining=draining))) as client:
        failed = await client.get("/v1/embeddings")
        draining.begun = draining.refuses = True
        down = await client.get("/v1/embeddings")
    assert failed.status_code == 500
    error = failed.json()["error"]
    assert (error["type"], error["code"], error["param"]) == ("server_error", "internal_error", None)
    assert failed.headers["x-request-id"] in error["message"]
    assert "hunter2" not in failed.text
    assert (down.status_code, down.headers["retry-after"], down.headers["connection"]) == (503, "1", "close")
    message, code = "the service is shutting down", "not_ready"
    error = {"message": message, "type": "server_error", "param": None, "code": code}
    assert down.json() == {"error": error, "message": message, "detail": message, "code": code, "errors": []}


@pytest.mark.parametrize("reads", [True, False])
async def test_a_disconnect_cancels_a_request_without_body(caplog: pytest.LogCaptureFixture, reads: bool) -> None:
    """Whether or not the route reads the missing body."""
    cancelled: list[Message | None] = []
    metrics = Metrics()
    scope = {"type": "http", "method": "GET", "path": "/explain", "headers": []}
    with caplog.at_level(logging.INFO, "service.access"):
        async with asyncio.timeout(CEILING_S):
            app = Edge(hanging(cancelled, reads=reads), metrics, LIMITS)
            await app(scope, receiving(UNREAD), no_answer)
    assert cancelled == [UNREAD if reads else None]
    assert [record.getMessage() for record in caplog.records] == ["GET /explain 499"]
    assert 'method="GET",route="unmatched",status="499"} 1.0' in metrics.exposition().decode()


@pytest.mark.parametrize("steps", [0, 3])
async def test_a_disconnect_is_noticed_before_and_after_the_watch_starts(steps: int) -> None:
    """Only long requests are watched."""
    cancelled: list[Message | None] = []
    tasks = asyncio.all_tasks()
    body: Message = {"type": "http.request", "body": b"{}", "more_body": False}
    headers = [(b"content-length", b"2"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/similarity", "headers": headers}
    async with asyncio.timeout(CEILING_S):
        await edge(hanging(cancelled))(scope, receiving(body, pauses=steps), no_answer)
        await asyncio.sleep(0)  # nothing is left that runs, or could cancel later requests
    assert asyncio.all_tasks() == tasks
    assert [message and message["body"] for message in cancelled] == [b"{}"]


async def test_a_quick_request_starts_no_second_task() -> None:
    tasks = asyncio.all_tasks()

    async def quick(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        assert asyncio.all_tasks() == tasks
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    sent: list[Message] = []

    async def receive() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/live", "headers": []}
    await edge(quick)(scope, receive, send)
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]


@pytest.mark.parametrize(
    ("path", "status", "level"),
    [
        ("/live", 200, logging.DEBUG),
        ("/ready", 200, logging.DEBUG),
        ("/metrics", 200, logging.DEBUG),
        ("/ready", 503, logging.INFO),
        ("/metrics", 401, logging.INFO),
        ("/models", 200, logging.INFO),
    ],
)
async def test_the_log_omits_probes_that_succeed(
    caplog: pytest.LogCaptureFixture, path: str, status: int, level: int
) -> None:
    caplog.set_level(logging.DEBUG, "service.access")
    async with client_of(edge(Response(status_code=status))) as client:
        await client.get(path)
    assert [(record.getMessage(), record.levelno) for record in caplog.records] == [(f"GET {path} {status}", level)]


@pytest.mark.parametrize(("method", "status"), [("GET", 200), ("PUT", 403)])
async def test_log_and_metrics_name_the_caller_of_a_refusal(
    caplog: pytest.LogCaptureFixture, method: str, status: int
) -> None:
    caplog.set_level(logging.INFO, "service.access")
    policy = EdgePolicy(Guard(KeyRing(entry_of("ci", ["read"], "secret"))))
    metrics = Metrics()
    async with client_of(Edge(Response(), metrics, LIMITS, policy)) as client:
        answer = await client.request(method, "/collections/x", headers={"authorization": "Bearer secret"})
        unknown = await client.request(method, "/collections/x", headers={"authorization": "Bearer guessed"})
    assert (answer.status_code, unknown.status_code) == (status, 401)
    assert [getattr(record, "caller", None) for record in caplog.records] == ["ci", None]
    counted = re.findall(rb"^semblance_caller_requests_total(.*)$", metrics.exposition(), re.MULTILINE)
    assert counted == [f'{{caller="ci",status="{status}"}} 1.0'.encode()]


async def test_answers_keep_own_security_headers_and_get_the_others_once() -> None:
    own = {"content-security-policy": "default-src 'self'", "cache-control": "max-age=1"}
    async with client_of(edge(Response("text", headers={**own, "x-request-id": "forged"}))) as client:
        answer = await client.get("/live", headers={"x-request-id": "chosen-by.the_client"})
    assert len(answer.headers.raw) == len(set(answer.headers)), "no header is repeated"
    assert answer.headers["x-request-id"] == "chosen-by.the_client"
    assert {name: answer.headers[name] for name in SECURITY_HEADERS} == {**SECURITY_HEADERS, **own}
    assert set(answer.headers["server-timing"].replace(";", " ").split()[::2]) == {*STAGES, "total"}


async def test_a_request_cut_off_at_shutdown_gets_one_answer() -> None:
    """The server cancels the tasks of requests that outlast the drain time."""
    cancelled: list[str] = []
    entered, released = asyncio.Event(), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        entered.set()
        try:
            await released.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
        except asyncio.CancelledError:
            cancelled.append("cancelled")
            raise

    statuses: list[int] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    scope = {"type": "http", "method": "GET", "path": "/slow", "headers": []}
    serving = asyncio.ensure_future(edge(slow)(scope, receive, send))
    await entered.wait()
    serving.cancel()
    await asyncio.wait({serving})
    released.set()
    for _ in range(10):
        await asyncio.sleep(0)  # whatever is left of the request would run now
    assert statuses == [503]
    assert cancelled == ["cancelled"]
