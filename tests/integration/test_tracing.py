"""Traces of a running service, as a collector receives them."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.project import PROJECT
from tests.support.running_service import SEMBLANCE, Service, reserved_port
from tests.support.servers.word_models import WORDS, write_model


class Collector(ThreadingHTTPServer):
    """Keeps what is exported to it by OTLP over HTTP."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiver)
        self.bodies: list[bytes] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Receiver(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.bodies.append(gzip.decompress(body) if self.headers["content-encoding"] == "gzip" else body)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.shutdown()
    collector.server_close()


def traced_service(home: Path, endpoint: str) -> Service:
    model = write_model(home / "words.npz", seed=1)
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_SERVICE_NAME": "faq-search"}
    return Service(home, PROJECT, SEMBLANCE, environment, models=f"words={model}", tracing="1")


def test_spans_reach_a_collector_without_texts(tmp_path: Path, collector: Collector) -> None:
    service = traced_service(tmp_path, collector.endpoint)
    url = service.start()
    try:
        pair = {"a": f"{WORDS[0]} {WORDS[1]}", "b": WORDS[2]}
        httpx2.get(f"{url}/explain", params=pair).raise_for_status()
        httpx2.post(f"{url}/similarity", json={"pairs": [{"a": WORDS[3], "b": WORDS[4]}]}).raise_for_status()
    finally:
        service.stop()
    received = [ExportTraceServiceRequest.FromString(body) for body in collector.bodies]
    resources = [each for request in received for each in request.resource_spans]
    names = {span.name for each in resources for scope in each.scope_spans for span in scope.spans}
    assert {"GET /explain", "POST /similarity", "queue", "tokenise", "encode"} <= names
    attributes = {each.key: each.value.string_value for resource in resources for each in resource.resource.attributes}
    assert attributes["service.name"] == "faq-search"
    assert not [word for word in WORDS for body in collector.bodies if word.encode() in body]


def test_a_collector_that_does_not_answer_delays_nothing(tmp_path: Path) -> None:
    service = traced_service(tmp_path, f"http://127.0.0.1:{reserved_port()}")
    url = service.start()
    process = service.process
    try:
        began = time.monotonic()
        for _ in range(50):
            httpx2.post(f"{url}/similarity", json={"pairs": [{"a": WORDS[3], "b": WORDS[4]}]}).raise_for_status()
        answered = time.monotonic() - began
    finally:
        service.stop()
    assert answered < 5
    assert time.monotonic() - began - answered < 5, "ending waits for the collector"
    assert process.returncode == 0
