"""How a stream of documents ends when something unexpected fails."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator

import httpx2
import pytest
from semblance_client.vocabulary.documents import StoredLines
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from semblance.service.api.edge.context import context_of
from semblance.service.api.edge.request_body import BodyLimits
from semblance.service.api.edge.stack import Edge
from semblance.service.api.ndjson import StoreReport, StreamAnswer, answer_lines
from semblance.service.observability.metrics import Metrics

LIMITS = BodyLimits(max_bytes=1000, pause_s=10, timeout_s=60)
STORED = StoredLines(through_line=1, upserted=1, version=None, truncated=[], errors=[], warnings=[])


@pytest.mark.parametrize("stored", [0, 2])
async def test_an_unexpected_error_ends_the_stream_with_a_line(caplog: pytest.LogCaptureFixture, stored: int) -> None:
    metrics = Metrics()

    async def batches() -> AsyncIterator[StoredLines]:
        for i in range(stored):
            yield STORED.model_copy(update={"through_line": i + 1})
        raise RuntimeError("password hunter2")

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        answer = StreamAnswer(answer_lines(StoreReport(batches()), metrics, context_of(scope).id))
        await answer(scope, receive, send)

    transport = httpx2.ASGITransport(Edge(app, metrics, LIMITS))
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
        answer = await client.post("/collections/c/documents")
    assert answer.status_code == 200
    *lines, last = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["through_line"] for line in lines] == list(range(1, stored + 1))
    request_id = answer.headers["x-request-id"]
    detail = f"internal error; see the log for request {request_id}"
    assert last == {"done": False, "error": "internal_error", "detail": detail, "through_line": stored}
    [logged] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert logged.exc_info is not None
    assert vars(logged)["request_id"] == request_id
    assert 'semblance_errors_total{code="internal_error"} 1.0' in metrics.exposition().decode()


async def test_a_client_that_leaves_mid_stream_is_no_error() -> None:
    async def batches() -> AsyncIterator[StoredLines]:
        yield STORED
        raise ClientDisconnect

    lines = answer_lines(StoreReport(batches()), Metrics(), "id")
    assert json.loads(await anext(lines))["through_line"] == 1
    with pytest.raises(ClientDisconnect):
        await anext(lines)
