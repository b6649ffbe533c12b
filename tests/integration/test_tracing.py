"""Traces of a running service, as a collector receives them."""

from __future__ import annotations

import gzip
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans

from tests.integration.conftest import Api
from tests.support.project import PROJECT
from tests.support.running_service import SEMBLANCE, Service
from tests.support.servers.word_models import WORDS, write_model
from tests.support.waiting import until

pytestmark = pytest.mark.waits

PAIR = (WORDS[3], WORDS[4])


class Collector(ThreadingHTTPServer):
    """Keeps what is exported to it by OTLP over HTTP, and answers unless `answers` is cleared."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiver)
        self.bodies: list[bytes] = []
        self.answers = threading.Event()
        self.answers.set()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def spans(self) -> set[str]:
        """Names of all spans that arrived."""
        scopes = [scope for resource in self.resources() for scope in resource.scope_spans]
        return {span.name for scope in scopes for span in scope.spans}

    def resources(self) -> list[ResourceSpans]:
        """Spans with the attributes of the services that made them."""
        received = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        return [each for request in received for each in request.resource_spans]


class _Receiver(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.bodies.append(gzip.decompress(body) if self.headers["content-encoding"] == "gzip" else body)
        self.server.answers.wait()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.answers.set()
    collector.shutdown()
    collector.server_close()


@contextmanager
def traced(home: Path, endpoint: str) -> Iterator[tuple[subprocess.Popen[bytes], Api]]:
    """A service that exports spans, until the block ends."""
    model = write_model(home / "words.npz", seed=1)
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_TIMEOUT": "3600",  # seconds: it never stops waiting for an answer
        "OTEL_BSP_SCHEDULE_DELAY": "10",  # milliseconds
        "OTEL_SERVICE_NAME": "faq-search",
    }
    service = Service(home, PROJECT, SEMBLANCE, environment, models=f"words={model}", tracing="1")
    try:
        with httpx2.Client(base_url=service.start(), timeout=120) as http:
            yield service.process, Api(http)
    finally:
        service.stop()


def test_spans_reach_a_collector_without_texts(tmp_path: Path, collector: Collector) -> None:
    with traced(tmp_path, collector.endpoint) as (_, api):
        api.get("/explain", a=f"{WORDS[0]} {WORDS[1]}", b=WORDS[2])
        api.scores(PAIR)
        until(lambda: {"GET /explain", "POST /similarity", "queue", "tokenise", "encode"} <= collector.spans())
    attributes = {key.key: key.value.string_value for each in collector.resources() for key in each.resource.attributes}
    assert attributes["service.name"] == "faq-search"
    assert not [word for word in WORDS for body in collector.bodies if word.encode() in body]


def test_a_collector_that_does_not_answer_delays_nothing(tmp_path: Path, collector: Collector) -> None:
    """Requests are answered, and the service ends, before the collector has answered for the first time."""
    collector.answers.clear()
    with traced(tmp_path, collector.endpoint) as (process, api):
        api.scores(PAIR)
        until(lambda: collector.bodies, "spans of the first request")
        for _ in range(20):
            api.scores(PAIR)
    assert process.returncode == 0
