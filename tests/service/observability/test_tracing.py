"""Spans of requests and of their stages, as the SDK exports them."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, format_span_id, format_trace_id

from semblance.models.errors import MissingExtra
from semblance.service.app import create_app
from semblance.service.observability.logs import JsonLines
from semblance.service.observability.stages import STAGES
from semblance.service.observability.tracing import open_tracer_provider
from semblance.service.settings import Settings
from tests.support.servers.word_models import WORDS, write_model

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SENT = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
TEXTS = [f"{WORDS[i]} {WORDS[i + 1]}" for i in range(8)]


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def app(tmp_path: Path, exporter: InMemorySpanExporter) -> FastAPI:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return create_app(_settings(tmp_path), tracers=provider)


def _settings(folder: Path) -> Settings:
    model = write_model(folder / "words.npz", seed=1)
    return Settings(models=f"words={model}", home=folder, runtime="torch", device="cpu")


@asynccontextmanager
async def client_of(app: FastAPI, *, raises: bool = True) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app, raise_app_exceptions=raises)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        yield client


async def fill(client: httpx2.AsyncClient) -> None:
    (await client.put("/collections/faq", json={})).raise_for_status()
    documents = [{"id": str(number), "text": text} for number, text in enumerate(TEXTS)]
    (await client.post("/collections/faq/documents", json={"documents": documents})).raise_for_status()


def by_name(spans: Iterable[ReadableSpan], trace: str = TRACE) -> dict[str, ReadableSpan]:
    return {span.name: span for span in spans if format_trace_id(span.context.trace_id) == trace}


def _milliseconds(span: ReadableSpan) -> float:
    assert span.start_time is not None
    assert span.end_time is not None
    return (span.end_time - span.start_time) / 1e6


async def test_a_search_has_spans_for_all_its_stages(app: FastAPI, exporter: InMemorySpanExporter) -> None:
    async with client_of(app) as client:
        await fill(client)
        body = {"collection": "faq", "query": f"{WORDS[20]} {WORDS[3]}", "measure": "rcmd", "k": 3, "highlight": True}
        body |= {"keep": {"share": 0.9}}
        answer = (await client.post("/search", json=body, headers=SENT)).raise_for_status()
    spans = by_name(exporter.get_finished_spans())
    request = spans["POST /search"]
    assert set(spans) == {"POST /search", *STAGES}
    assert request.kind is SpanKind.SERVER
    assert request.parent is not None
    assert format_span_id(request.parent.span_id) == PARENT
    assert answer.headers["traceparent"] == f"00-{TRACE}-{format_span_id(request.context.span_id)}-01"
    assert request.attributes is not None
    assert request.attributes["http.route"] == "/search"
    assert request.attributes["http.response.status_code"] == 200
    assert request.attributes["semblance.request_id"] == answer.headers["x-request-id"]
    for stage in STAGES:
        assert spans[stage].parent == request.context, stage
        times = (request.start_time, spans[stage].start_time, spans[stage].end_time, request.end_time)
        assert times == tuple(sorted(time or 0 for time in times)), stage


async def test_stages_of_a_trace_add_up_to_server_timing(app: FastAPI, exporter: InMemorySpanExporter) -> None:
    async with client_of(app) as client:
        body = {"pairs": [{"a": first, "b": second} for first, second in itertools.pairwise(TEXTS)]}
        answer = (await client.post("/similarity", json=body, headers=SENT)).raise_for_status()
    shown = dict(part.split(";dur=") for part in answer.headers["server-timing"].split(", "))
    for stage in ("queue", "tokenise", "encode"):
        spent = sum(_milliseconds(span) for span in exporter.get_finished_spans() if span.name == stage)
        assert spent == pytest.approx(float(shown[stage]), abs=0.02), stage


async def test_no_text_is_in_a_span(app: FastAPI, exporter: InMemorySpanExporter) -> None:
    async with client_of(app) as client:
        await fill(client)
        (await client.get("/explain", params={"a": TEXTS[0], "b": TEXTS[1]})).raise_for_status()
        await client.get("/explain", params={"a": TEXTS[0], "b": TEXTS[1], "unknown": "x"})
        await client.post("/similarity", json={"pairs": [{"a": TEXTS[0], "b": ""}]})
        await client.post("/search", json={"collection": "faq", "query": TEXTS[2], "explain": True})
    written = [span.to_json() for span in exporter.get_finished_spans()]
    assert len(written) > 10
    assert not [span for span in written for word in WORDS if word in span]


async def test_an_unexpected_error_marks_its_span(app: FastAPI, exporter: InMemorySpanExporter) -> None:
    @app.get("/fails")
    async def fails() -> None:
        raise RuntimeError("hunter2")

    async with client_of(app, raises=False) as client:
        assert (await client.get("/fails", headers=SENT)).status_code == 500
    failed = by_name(exporter.get_finished_spans())["GET /fails"]
    assert failed.status.status_code is StatusCode.ERROR
    assert "hunter2" not in failed.to_json()


async def test_monitoring_is_not_traced(app: FastAPI, exporter: InMemorySpanExporter) -> None:
    async with client_of(app) as client:
        answers = [await client.get(path, headers=SENT) for path in ("/live", "/ready", "/metrics")]
    assert not [answer for answer in answers if "traceparent" in answer.headers]
    assert not exporter.get_finished_spans()


async def test_log_lines_of_a_request_name_its_trace(app: FastAPI, caplog: pytest.LogCaptureFixture) -> None:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(JsonLines().format(record))  # type: ignore[method-assign]
    log = logging.getLogger("service.access")
    log.addHandler(handler)
    try:
        with caplog.at_level(logging.DEBUG):
            async with client_of(app) as client:
                await client.get("/models", headers=SENT)
                await client.get("/live", headers=SENT)
    finally:
        log.removeHandler(handler)
    assert [json.loads(line).get("trace_id") for line in lines] == [TRACE, None]


async def test_without_tracing_nothing_is_traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even if the environment asks FastAPI itself to export what requests say."""
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    app = create_app(_settings(tmp_path))
    assert not app._native_telemetry.enabled()
    async with client_of(app) as client:
        answer = await client.get("/models", headers=SENT)
    assert "traceparent" not in answer.headers


def test_tracing_without_its_extra_is_refused_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with (
        pytest.raises(MissingExtra, match="scripts/install tracing"),
        open_tracer_provider(enabled=True),
    ):
        pass
