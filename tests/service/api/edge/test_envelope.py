"""What a client sees of a failure that nobody foresaw: nothing but the id of its request."""

from __future__ import annotations

import asyncio
import logging

import httpx2
import pytest
from fastapi import FastAPI
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from semblance.service.api import errors
from semblance.service.api.edge.checks import SECURITY_HEADERS, Edge
from semblance.service.api.edge.envelope import Envelope
from semblance.service.api.edge.request_body import BodyLimits
from semblance.service.observability.metrics import Metrics
from semblance.service.observability.timings import STAGES
from semblance.service.process.shutdown import Draining

LIMITS = BodyLimits(max_bytes=1000, pause_s=10, timeout_s=60)


def test_an_unknown_failure_is_opaque_and_logged_with_its_id(caplog: pytest.LogCaptureFixture) -> None:
    app, metrics = FastAPI(), Metrics()
    app.add_middleware(Envelope, metrics=metrics, limits=LIMITS)
    errors.install(app, metrics, app.routes)

    @app.get("/fails")
    async def fails(secret: str) -> None:
        raise RuntimeError(f"password {secret}")

    async def use() -> httpx2.Response:
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.get("/fails", params={"secret": "hunter2"})

    with caplog.at_level(logging.INFO):
        answer = asyncio.run(use())
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "internal_error"
    assert "hunter2" not in answer.text
    assert answer.headers["x-request-id"] in answer.json()["detail"]
    access = [record for record in caplog.records if record.name == "service.access"]
    assert [record.getMessage() for record in access] == ["GET /fails 500"], "the query string stays out of the log"
    assert 'semblance_requests_total{method="GET",route="/fails",status="500"} 1.0' in metrics.exposition().decode()


def test_under_v1_failures_and_going_down_take_the_shape_of_openai() -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive, send
        raise RuntimeError("hunter2")

    async def use() -> tuple[httpx2.Response, httpx2.Response]:
        draining = Draining()
        transport = httpx2.ASGITransport(Envelope(fails, Metrics(), LIMITS, Edge(draining=draining)))
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            failed = await client.get("/v1/embeddings")
            draining.begun = True
            return failed, await client.get("/v1/embeddings")

    failed, down = asyncio.run(use())
    assert failed.status_code == 500
    error = failed.json()["error"]
    assert (error["type"], error["code"], error["param"]) == ("server_error", "internal_error", None)
    assert failed.headers["x-request-id"] in error["message"]
    assert "hunter2" not in failed.text
    assert (down.status_code, down.headers["retry-after"], down.headers["connection"]) == (503, "1", "close")
    assert down.json() == {
        "error": {
            "message": "the service is going down",
            "type": "server_error",
            "param": None,
            "code": "not_ready",
        }
    }


@pytest.mark.parametrize("reads", [True, False])
def test_a_client_that_leaves_before_a_request_without_body_is_answered_ends_it(
    caplog: pytest.LogCaptureFixture, reads: bool
) -> None:
    """Whether or not the route asks for the body that there is not."""
    ended: list[object] = []

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, send
        message = await receive() if reads else None
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            ended.append(message)
            raise

    async def use() -> None:
        coming: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> Message:
            if coming:
                return coming.pop()
            await asyncio.sleep(0.05)
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            raise AssertionError(message)

        scope = {"type": "http", "method": "GET", "path": "/explain", "headers": []}
        async with asyncio.timeout(2):
            await Envelope(slow, metrics, LIMITS)(scope, receive, send)

    metrics = Metrics()
    with caplog.at_level(logging.INFO, "service.access"):
        asyncio.run(use())
    assert ended == [{"type": "http.request", "body": b"", "more_body": False} if reads else None]
    assert [record.getMessage() for record in caplog.records] == ["GET /explain 499"]
    assert 'method="GET",route="unmatched",status="499"} 1.0' in metrics.exposition().decode()


@pytest.mark.parametrize("left_after_s", [0.0, 0.2])
def test_a_client_may_leave_before_or_after_anybody_watches_its_connection(left_after_s: float) -> None:
    """Only requests that take long are watched."""
    ended: list[str] = []

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, send
        assert (await receive())["body"] == b"{}"
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def use() -> None:
        coming: list[Message] = [{"type": "http.request", "body": b"{}", "more_body": False}]

        async def receive() -> Message:
            if coming:
                return coming.pop()
            await asyncio.sleep(left_after_s)
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            raise AssertionError(message)

        headers = [(b"content-length", b"2"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/similarity", "headers": headers}
        async with asyncio.timeout(2):
            await Envelope(slow, Metrics(), LIMITS)(scope, receive, send)
            await asyncio.sleep(0)  # nothing of it goes on, or cancels what comes after it
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(use())
    assert ended == ["cancelled"]


def test_a_request_that_is_answered_at_once_takes_no_other_task() -> None:
    async def quick(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        assert asyncio.all_tasks() == {asyncio.current_task()}
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def use() -> list[Message]:
        sent: list[Message] = []

        async def receive() -> Message:
            raise AssertionError

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": "/live", "headers": []}
        await Envelope(quick, Metrics(), LIMITS)(scope, receive, send)
        return sent

    assert [message["type"] for message in asyncio.run(use())] == ["http.response.start", "http.response.body"]


def test_an_answer_keeps_its_own_security_headers_and_gets_the_others_once() -> None:
    own_ones = {"content-security-policy": "default-src 'self'", "cache-control": "max-age=1"}

    async def own(scope: Scope, receive: Receive, send: Send) -> None:
        headers = {
            "content-security-policy": "default-src 'self'",
            "x-request-id": "forged",
            "cache-control": "max-age=1",
        }
        await Response("text", headers=headers)(scope, receive, send)

    async def use() -> httpx2.Response:
        transport = httpx2.ASGITransport(Envelope(own, Metrics(), LIMITS))
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.get("/live", headers={"x-request-id": "given-by.the_client"})

    answer = asyncio.run(use())
    assert len(answer.headers.raw) == len(set(answer.headers)), "each is there once"
    assert answer.headers["x-request-id"] == "given-by.the_client"
    assert {name: answer.headers[name] for name in SECURITY_HEADERS} == {**SECURITY_HEADERS, **own_ones}
    assert set(answer.headers["server-timing"].replace(";", " ").split()[::2]) == {*STAGES, "total"}


def test_a_request_that_is_cut_off_gets_one_answer_and_goes_on_nowhere() -> None:
    """What uvicorn does to requests that outlast the time to finish: it cancels their task."""
    ended: list[str] = []

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        try:
            await asyncio.sleep(0.2)
            await send({"type": "http.response.start", "status": 200, "headers": []})
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def use() -> list[int]:
        statuses: list[int] = []

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        async def receive() -> Message:
            await asyncio.sleep(60)
            return {"type": "http.disconnect"}

        scope = {"type": "http", "method": "GET", "path": "/slow", "headers": []}
        serving = asyncio.ensure_future(Envelope(slow, Metrics(), LIMITS)(scope, receive, send))
        await asyncio.sleep(0.05)
        serving.cancel()
        await asyncio.wait({serving})
        await asyncio.sleep(0.4)
        return statuses

    assert asyncio.run(use()) == [503]
    assert ended == ["cancelled"]
