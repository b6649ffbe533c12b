"""What stands before the routes, at a running service: keys, limits on connections, other origins, headers."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from benchmarks.running_service import Service, running_process

READER, WRITER, ADMIN = "smb_reader", "smb_writer", "smb_admin"
SCOPES = {READER: "read", WRITER: "read+write", ADMIN: "read+write+admin"}
ORIGIN = "https://app.example.org"
CONNECTIONS = 60
HEADER_BYTES = 8192
HEADER_S = 3.0
PAUSE_S = 1.5
BODY_S = 3.0
PAIR = json.dumps({"pairs": [{"a": "A cat.", "b": "A dog."}]}).encode()


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    keys = (f"{key[4:]}:{scopes}:{hashlib.sha256(key.encode()).hexdigest()}" for key, scopes in SCOPES.items())
    with running_process(
        api_keys=",".join(keys),
        cors_origins=ORIGIN,
        max_connections=str(CONNECTIONS),
        max_header_bytes=str(HEADER_BYTES),
        header_timeout_s=str(HEADER_S),
        body_pause_s=str(PAUSE_S),
        body_timeout_s=str(BODY_S),
    ) as running:
        yield running


@pytest.fixture(scope="module")
def anyone(service: Service) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=service.url, timeout=60) as client:
        yield client


@pytest.fixture(autouse=True)
def nothing_failed_unknown(anyone: httpx2.Client) -> Iterator[None]:
    """No test of this file may cause a 500, either."""
    yield
    metrics = anyone.get("/metrics", headers=bearer(READER)).text
    assert 'semblance_errors_total{code="internal_error"} 0.0' in metrics


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def dialled(service: Service) -> socket.socket:
    address = urlsplit(service.url)
    return socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=30)


def head(method: str, path: str, *lines: str, length: int | None = None) -> bytes:
    more = [] if length is None else ["content-type: application/json", f"content-length: {length}"]
    return "\r\n".join([f"{method} {path} HTTP/1.1", "host: here", *more, *lines, "", ""]).encode()


AS_READER = f"authorization: Bearer {READER}"


@dataclass(frozen=True)
class Answer:
    """What came over a raw connection."""

    status: int
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def answer_on(connection: socket.socket) -> Answer:
    """The answer to the one request that is under way."""
    with closing(HTTPResponse(connection)) as answer:
        answer.begin()
        return Answer(answer.status, answer.headers, answer.read())


def closed_after(connection: socket.socket) -> float:
    """Seconds until the service closes a connection, on which it says nothing."""
    began = time.perf_counter()
    with suppress(ConnectionResetError):
        assert connection.recv(1) == b""
    return time.perf_counter() - began


# keys


@pytest.mark.parametrize("path", ["/live", "/ready", "/docs", "/docs/assets/swagger-ui.css", "/openapi.json"])
def test_open_routes_need_no_key(anyone: httpx2.Client, path: str) -> None:
    assert anyone.get(path).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/metrics"), ("GET", "/collections"), ("POST", "/similarity"), ("GET", "/nosuch"), ("OPTIONS", "/search")],
)
def test_without_a_key_every_other_route_is_closed(anyone: httpx2.Client, method: str, path: str) -> None:
    for headers in ({}, bearer("smb_wrong"), {"authorization": "Basic abc"}):
        answer = anyone.request(method, path, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["content-type"] == "application/problem+json"


def test_each_scope_opens_its_routes_and_a_lacking_one_is_named(anyone: httpx2.Client) -> None:
    documents = {"documents": [{"id": "1", "text": "A cat."}]}
    for key, method, path, body, status in (
        (READER, "PUT", "/collections/keyed", None, 403),
        (WRITER, "PUT", "/collections/keyed", None, 403),
        (ADMIN, "PUT", "/collections/keyed", None, 201),
        (READER, "POST", "/collections/keyed/documents", documents, 403),
        (WRITER, "POST", "/collections/keyed/documents", documents, 200),
        (READER, "GET", "/collections/keyed/documents/1", None, 200),
        (READER, "POST", "/search", {"query": "cat", "collection": "keyed"}, 200),
        (READER, "DELETE", "/collections/keyed/documents/1", None, 403),
        (WRITER, "DELETE", "/collections/keyed/documents/1", None, 200),
        (WRITER, "DELETE", "/collections/keyed", None, 403),
        (ADMIN, "DELETE", "/collections/keyed", None, 204),
    ):
        answer = anyone.request(method, path, json=body, headers=bearer(key))
        assert answer.status_code == status, (key, method, path, answer.text)
        if status == 403:
            problem = answer.json()
            assert problem["code"] == "forbidden"
            assert f"scope {'write' if 'documents' in path else 'admin'}" in problem["detail"]


def test_a_key_is_judged_before_any_of_the_body_is_sent(service: Service) -> None:
    for line, status in (("x: y", 401), ("authorization: Bearer smb_wrong", 401), (AS_READER, 403)):
        with dialled(service) as connection:
            connection.sendall(head("POST", "/collections/c/documents", line, length=5_000_000))
            began = time.perf_counter()
            assert answer_on(connection).status == status
            assert time.perf_counter() - began < PAUSE_S


def test_the_log_names_who_called_and_holds_no_key(service: Service, anyone: httpx2.Client) -> None:
    answer = anyone.get("/models", headers=bearer(READER))
    anyone.get("/models", headers=bearer("smb_guessed"))
    log = service.log.read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    [called] = [line for line in lines if line.get("request_id") == answer.headers["x-request-id"]]
    assert (called["message"], called["caller"]) == ("GET /models 200", "reader")
    assert "smb_" not in log
    assert hashlib.sha256(READER.encode()).hexdigest() not in log


def test_the_command_line_shows_its_key(service: Service, tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps({"id": "1", "text": "A cat."}))

    def index(**environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "service.cli.main", "index", str(file), "--collection", "cli", "--url"]
        return subprocess.run(
            [*command, service.url], env=os.environ | environment, capture_output=True, text=True, check=False
        )

    refused = index()
    assert refused.returncode == 1
    assert "401" in refused.stderr
    assert "set SEMBLANCE_CLIENT_KEY" in refused.stderr
    assert index(SEMBLANCE_CLIENT_KEY=ADMIN).returncode == 0


# connections


@pytest.mark.parametrize(("length", "status"), [(HEADER_BYTES - 100, 200), (HEADER_BYTES, 431), (3_000_000, 431)])
def test_headers_up_to_the_limit(service: Service, length: int, status: int) -> None:
    with dialled(service) as connection:
        connection.sendall(head("GET", "/live", "x: " + "y" * length))
        answer = answer_on(connection)
        assert answer.status == status
        if status == 431:
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json["code"] == "headers_too_large"
            assert connection.recv(1) == b"", "the connection is closed"


def test_a_long_address_and_many_small_headers_are_headers_too(service: Service) -> None:
    for request in (
        head("GET", "/explain?a=" + "y" * HEADER_BYTES),
        head("GET", "/live", *[f"x{i}: y" for i in range(1500)]),
        b"GET /live HTTP/1.1\r\n" + b"x" * 100_000,
    ):
        with dialled(service) as connection:
            connection.sendall(request)
            assert answer_on(connection).status == 431


def test_what_is_no_http_is_a_problem_too(service: Service) -> None:
    with dialled(service) as connection:
        connection.sendall(b"\x16\x03\x01 a greeting in TLS\r\n\r\n")
        answer = answer_on(connection)
        assert (answer.status, answer.json["code"]) == (400, "malformed_http")
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_who_does_not_finish_a_head_is_closed(service: Service) -> None:
    """One that says nothing, one that stops, one that trickles, and one that stops in its second request."""

    def trickling(connection: socket.socket) -> float:
        began = time.perf_counter()
        with suppress(OSError):
            for letter in b"GET /live HTTP/1.1\r\nx-slow: " + b"y" * 100:
                connection.sendall(bytes([letter]))
                time.sleep(0.1)
        return time.perf_counter() - began

    with ExitStack() as stack, ThreadPoolExecutor(5) as pool:
        silent, stopping, blank, second, slow = (stack.enter_context(dialled(service)) for _ in range(5))
        stopping.sendall(b"GET /live HT")
        blank.sendall(b"\r\n")
        second.sendall(head("GET", "/live"))
        assert answer_on(second).body == b'{"status":"live"}'
        second.sendall(b"GET /li")
        waits = [pool.submit(closed_after, each) for each in (silent, stopping, blank, second)]
        waits.append(pool.submit(trickling, slow))
        for wait in waits:
            assert HEADER_S - 0.5 < wait.result() < HEADER_S + 2


def test_a_body_that_stops_or_trickles_gets_408(service: Service) -> None:
    for pieces, least, most in ((0, PAUSE_S, PAUSE_S + 1), (18, BODY_S, BODY_S + 1)):
        with dialled(service) as connection:
            began = time.perf_counter()
            connection.sendall(head("POST", "/similarity", AS_READER, length=500) + b"{")
            for _ in range(pieces):
                time.sleep(0.15)
                connection.sendall(b" ")
            answer = answer_on(connection)
            assert least - 0.2 < time.perf_counter() - began < most
            assert (answer.status, answer.json["code"]) == (408, "body_timeout")
            assert answer.headers["connection"] == "close"


def test_a_slow_body_in_time_is_served_and_the_connection_is_kept(service: Service) -> None:
    with dialled(service) as connection:
        for _ in range(2):
            connection.sendall(head("POST", "/similarity", AS_READER, length=len(PAIR)))
            for start in range(0, len(PAIR), 10):
                connection.sendall(PAIR[start : start + 10])
                time.sleep(0.1)
            answer = answer_on(connection)
            assert answer.status == 200
            assert len(answer.json["scores"]) == 1


def test_requests_sent_at_once_are_answered_in_their_order(service: Service) -> None:
    requests = [
        head("GET", "/live"),
        head("POST", "/similarity", AS_READER, length=len(PAIR)) + PAIR,
        head("GET", "/nosuch", AS_READER),
        head("GET", "/live", "x: " + "y" * 6000),
        head("GET", "/collections"),
    ] * 20
    with dialled(service) as connection:
        connection.sendall(b"".join([*requests, head("GET", "/live", "connection: close")]))
        answers = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"200", b"200", b"404", b"200", b"401"] * 20 + [b"200"]
    assert answers.count(b'"scores":[') == 20


def test_garbage_after_a_request_does_not_spoil_its_answer(service: Service) -> None:
    with dialled(service) as connection:
        connection.sendall(head("POST", "/similarity", AS_READER, length=len(PAIR)) + PAIR + b"\x00garbage\r\n\r\n")
        answer = answer_on(connection)
        assert (answer.status, len(answer.json["scores"])) == (200, 1)
        assert connection.recv(1) == b""


def test_a_flood_on_one_connection_costs_no_memory_and_others_are_served(
    service: Service, anyone: httpx2.Client
) -> None:
    """Tiny requests without end whose answers nobody reads, and a body over the limit."""
    before = resident_mb(service)
    tiny = head("GET", "/live") * 10_000
    with dialled(service) as flood, dialled(service) as large:
        flood.settimeout(0.5)
        sent, ends = 0, time.perf_counter() + 3
        large.sendall(head("POST", "/similarity", AS_READER, length=10_000_000))
        while time.perf_counter() < ends:
            try:
                sent += flood.send(tiny)
            except TimeoutError:
                break
            began = time.perf_counter()
            assert anyone.get("/live").status_code == 200
            assert time.perf_counter() - began < 2
        assert sent > 10_000 * 30
        assert answer_on(large).status == 413
    assert resident_mb(service) - before < 50


def resident_mb(service: Service) -> float:
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def test_idle_connections_make_room_the_longest_idle_first(service: Service, anyone: httpx2.Client) -> None:
    with ExitStack() as stack:
        busy = stack.enter_context(dialled(service))
        busy.sendall(head("POST", "/similarity", AS_READER, length=len(PAIR)) + PAIR[:5])
        idle = []
        for _ in range(5 * CONNECTIONS):
            idle.append(stack.enter_context(dialled(service)))
            if len(idle) == 2 * CONNECTIONS:
                assert httpx2.get(f"{service.url}/live").status_code == 200
        assert httpx2.get(f"{service.url}/live").status_code == 200
        assert closed_after(idle[0]) < 0.5
        idle[-1].sendall(head("GET", "/live"))
        assert answer_on(idle[-1]).status == 200, "the youngest are still open"
        busy.sendall(PAIR[5:])
        assert answer_on(busy).status == 200, "who is being served is not pushed out"
    assert anyone.get("/live").status_code == 200


def test_when_all_connections_are_being_served_a_new_one_is_closed_at_once(
    service: Service, anyone: httpx2.Client
) -> None:
    with ExitStack() as stack:
        busy = [stack.enter_context(dialled(service)) for _ in range(CONNECTIONS)]
        for connection in busy:
            connection.sendall(head("POST", "/similarity", AS_READER, length=len(PAIR)) + PAIR[:5])
        time.sleep(0.3)
        with dialled(service) as one_more:
            assert closed_after(one_more) < 0.5
        for connection in busy:
            connection.sendall(PAIR[5:])
        assert [answer_on(connection).status for connection in busy] == [200] * CONNECTIONS
    assert anyone.get("/live").status_code == 200


# browsers


def test_pages_of_a_listed_origin_may_call_with_a_key(anyone: httpx2.Client) -> None:
    asking = {"access-control-request-method": "PUT", "access-control-request-headers": "authorization,content-type"}
    allowed = anyone.options("/collections/c", headers={"origin": ORIGIN, **asking})
    assert allowed.status_code == 200, "a preflight bears no key"
    assert allowed.headers["access-control-allow-origin"] == ORIGIN
    assert "PUT" in allowed.headers["access-control-allow-methods"]
    assert "authorization" in allowed.headers["access-control-allow-headers"].lower()
    answer = anyone.get("/models", headers={"origin": ORIGIN, **bearer(READER)})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, ORIGIN)
    assert "x-request-id" in answer.headers["access-control-expose-headers"]
    refused = anyone.get("/models", headers={"origin": ORIGIN})
    assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, ORIGIN)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", ORIGIN + ".evil.example", "http://app.example.org"])
def test_pages_of_other_origins_may_not(anyone: httpx2.Client, origin: str) -> None:
    asking = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    for answer in (
        anyone.options("/search", headers={"origin": origin, **asking}),
        anyone.get("/live", headers={"origin": origin}),
    ):
        assert "access-control-allow-origin" not in answer.headers


def test_without_the_setting_no_origin_may(http: httpx2.Client) -> None:
    answer = http.options("/search", headers={"origin": ORIGIN, "access-control-request-method": "POST"})
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_every_answer_carries_the_security_headers_once(anyone: httpx2.Client) -> None:
    preflight = {"origin": ORIGIN, "access-control-request-method": "POST"}
    pair = {"a": "A cat.", "b": "A dog."}
    for answer, policy in (
        (anyone.get("/live"), "default-src 'none'; frame-ancestors 'none'"),
        (anyone.get("/metrics"), "default-src 'none'; frame-ancestors 'none'"),
        (anyone.get("/nosuch", headers=bearer(READER)), "default-src 'none'; frame-ancestors 'none'"),
        (anyone.options("/search", headers=preflight), "default-src 'none'; frame-ancestors 'none'"),
        (anyone.get("/docs"), "default-src 'none'; script-src 'self' 'sha256-"),
        (
            anyone.post("/explain", json={**pair, "format": "html"}, headers=bearer(READER)),
            "default-src 'none'; style-src",
        ),
    ):
        assert answer.headers["content-security-policy"].startswith(policy)
        assert answer.headers["content-security-policy"].count("frame-ancestors 'none'") == 1
        assert answer.headers.get_list("x-content-type-options") == ["nosniff"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert len(answer.headers["x-request-id"]) == 32
