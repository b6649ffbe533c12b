"""Limits on connections, and that others are served meanwhile: the whole application, in a thread of this process."""

from __future__ import annotations

import json
import re
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from http.client import HTTPException
from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI

from semblance.service.app import create_app
from semblance.service.cli.toolbox.http_service import _uvicorn_config
from semblance.service.process import connections
from semblance.service.settings import Settings
from tests.integration.edge.conftest import AS_READER, HEADER_BYTES, KEYS, serving
from tests.integration.raw_http import (
    PAIR,
    begin_pair,
    chunk,
    head,
    is_closed,
    open_connection,
    read_answer,
    require_closed,
)
from tests.support.small_model import write_glove
from tests.support.waiting import until

pytestmark = pytest.mark.waits

CONNECTIONS = 60
STRIKES_S, NEVER_S = 0.2, 600.0
CHUNKED = head("POST", "/similarity", AS_READER, "content-type: application/json", "transfer-encoding: chunked")


@contextmanager
def application(
    home: Path,
    header_timeout_s: float = NEVER_S,
    body_pause_s: float = NEVER_S,
    body_timeout_s: float = NEVER_S,
    keep_alive_s: float = NEVER_S,
) -> Iterator[str]:
    settings = Settings(
        home=home,
        models=f"words={write_glove(home / 'glove.txt', ['a', 'cat', 'dog'])}",
        api_keys=KEYS,
        max_connections=CONNECTIONS,
        max_header_bytes=HEADER_BYTES,
        header_timeout_s=header_timeout_s,
        body_pause_s=body_pause_s,
        body_timeout_s=body_timeout_s,
        keep_alive_s=keep_alive_s,
    )
    with serving(create_app(settings), settings) as url:
        yield url


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch, application(tmp_path_factory.mktemp("home")) as address:
        patch.setattr(connections, "LINGER_S", NEVER_S)  # a slow client may still be sending when the reason comes
        yield address


@pytest.fixture(scope="module")
def anyone(url: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=url, timeout=120) as client:
        yield client


HEADS = {
    "below the limit": (head("GET", "/live", "x: " + "y" * (HEADER_BYTES - 100)), 200),
    "at the limit": (head("GET", "/live", "x: " + "y" * HEADER_BYTES), 431),
    "far above": (head("GET", "/live", "x: " + "y" * 3_000_000), 431),
    "long URL": (head("GET", "/explain?a=" + "y" * HEADER_BYTES), 431),
    "many headers": (head("GET", "/live", *[f"x{i}: y" for i in range(1500)]), 431),
    "long name": (b"GET /live HTTP/1.1\r\n" + b"x" * 100_000, 431),
    "trailer": (CHUNKED + b"0\r\n" + b"x" * (HEADER_BYTES + 3 * 4096), 431),
    "chunk extension": (CHUNKED + b"1;a=" + b"x" * (HEADER_BYTES + 3 * 4096), 431),
}


@pytest.mark.parametrize("name", HEADS)
def test_whatever_belongs_to_a_head_counts(url: str, name: str) -> None:
    request_head, status = HEADS[name]
    with open_connection(url) as connection:
        connection.sendall(request_head)
        answer = read_answer(connection)
        assert answer.status == status
        if status == 431:
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json["code"] == "headers_too_large"
            assert connection.recv(1) == b"", "the connection is closed"


@pytest.mark.parametrize(
    ("ends", "piece"),
    [
        (b"0\r\n", b"x: " + b"y" * 1000 + b"\r\n"),
        (b"1\r\n{\r\n0\r\n", b"x: " + b"y" * 1000 + b"\r\n"),
        (b"0\r\nx: ", b"y" * 1000),
        (b"1;a=", b"y" * 1000),
    ],
    ids=["trailers", "trailers after a body", "one trailer", "chunk extension"],
)
def test_endless_trailers_use_no_memory_and_are_cut_off(
    url: str, monkeypatch: pytest.MonkeyPatch, ends: bytes, piece: bytes
) -> None:
    monkeypatch.setattr(connections, "LINGER_S", STRIKES_S)
    before = resident_mb()
    with open_connection(url) as connection, suppress(OSError):
        connection.sendall(CHUNKED + ends)
        until(lambda: connection.sendall(10 * piece), "the end of the connection")
    assert resident_mb() - before < 20


def test_trailers_do_not_count_as_headers(url: str) -> None:
    """A key that comes after the body opens nothing, and one that came before stays."""
    unauthorized = head("POST", "/similarity", "transfer-encoding: chunked", "content-type: application/json")
    for request, status in ((CHUNKED, 200), (unauthorized, 401)):
        with open_connection(url) as connection:
            connection.sendall(request + chunk(PAIR) + b"0\r\n" + AS_READER.encode() + b"\r\n\r\n")
            assert read_answer(connection).status == status
            connection.sendall(head("GET", "/live"))
            assert read_answer(connection).status == 200


@pytest.mark.parametrize("size", [1, 50, 100_000])
def test_an_offer_to_upgrade_is_ignored(url: str, size: int) -> None:
    """As sent by Java's client with every request; the connection stays open."""
    offer = ("connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAEAAEAAAAIAAAABAAMAAABk")
    requests = b"".join(
        [
            head("POST", "/similarity", AS_READER, *offer, length=len(PAIR)) + PAIR,
            CHUNKED[:-2] + "\r\n".join([*offer, "", ""]).encode() + chunk(PAIR) + chunk(b""),
            head("GET", "/live", *offer),
            head("GET", "/live", "connection: Upgrade", "upgrade: websocket"),
            head("POST", "/similarity", *offer, length=len(PAIR)) + PAIR,
        ]
    )
    with open_connection(url) as connection:
        for start in range(0, len(requests), size):
            connection.sendall(requests[start : start + size])
        answers = answers_to_the_end(connection)
    assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"200", b"200", b"200", b"200", b"401", b"200"]
    assert answers.count(b'"scores":[') == 2


@pytest.mark.parametrize("version", ["1.1", "1.0"])
@pytest.mark.parametrize("connection", ["close, Upgrade, HTTP2-Settings", "Upgrade", "Upgrade, close"])
def test_an_offer_to_upgrade_is_answered_before_the_connection_closes(url: str, version: str, connection: str) -> None:
    headers = (AS_READER, f"connection: {connection}", "upgrade: h2c", "http2-settings: AAEAAEAAAAIAAAABAAMAAAB")
    request = head("POST", "/similarity", *headers, length=len(PAIR)).replace(b"HTTP/1.1", f"HTTP/{version}".encode())
    with open_connection(url) as opened:
        opened.sendall(request + PAIR)
        answer = read_answer(opened)
    assert (answer.status, b'"scores":[' in answer.body) == (200, True)


def answers_to_the_end(connection: socket.socket) -> bytes:
    """All answers, and that to a last request after which the connection is closed."""
    connection.sendall(head("GET", "/live", "connection: close"))
    return b"".join(iter(lambda: connection.recv(65_536), b""))


def test_small_chunks_of_a_large_body_are_accepted(url: str) -> None:
    body = PAIR.replace(b"A cat.", b"A cat." + b" " * 2 * HEADER_BYTES)
    with open_connection(url) as connection:
        connection.sendall(CHUNKED + b"".join(chunk(bytes([letter])) for letter in body) + chunk(b""))
        assert read_answer(connection).status == 200


def test_bytes_that_are_no_http_get_a_problem(url: str) -> None:
    with open_connection(url) as connection:
        connection.sendall(b"\x16\x03\x01 a greeting in TLS\r\n\r\n")
        answer = read_answer(connection)
        assert (answer.status, answer.json["code"]) == (400, "malformed_http")
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_unfinished_heads_time_out(tmp_path: Path) -> None:
    """Of clients that are silent, stop, send blank lines, trickle, or stop in their second request."""
    with application(tmp_path, header_timeout_s=STRIKES_S) as url, ExitStack() as stack:
        for sent in (b"", b"GET /live HT", b"\r\n", trickling := b"GET /live HTTP/1.1\r\nx-slow:"):
            connection = stack.enter_context(open_connection(url))
            with suppress(OSError):
                connection.sendall(sent)
            if sent == trickling:
                until(partial(is_closed, connection), "the end of a connection on which bytes arrive")
            require_closed(connection)
        second = until(lambda: answered(url), "an answer before the timeout")
        assert second is not None
        stack.enter_context(second)
        with suppress(OSError):
            second.sendall(b"GET /li")
        require_closed(second)


def answered(url: str) -> socket.socket | None:
    """A connection after its first answer; None if it was closed before, as of a slow client."""
    connection = open_connection(url)
    try:
        connection.sendall(head("GET", "/live"))
        assert read_answer(connection).body == b'{"status":"live"}'
    except (OSError, HTTPException):
        connection.close()
        return None
    return connection


@pytest.mark.parametrize("limit", ["body_pause_s", "body_timeout_s"])
def test_a_body_that_stops_or_trickles_gets_408(tmp_path: Path, limit: str) -> None:
    with application(tmp_path, **{limit: STRIKES_S}) as url, open_connection(url) as connection:
        connection.sendall(head("POST", "/similarity", AS_READER, length=100_000) + b"{")
        if limit == "body_timeout_s":
            until(lambda: is_closed(connection), "the refusal of a body whose bytes arrive")
        answer = read_answer(connection)
        assert (answer.status, answer.json["code"]) == (408, "body_timeout")
        assert answer.headers["connection"] == "close"


def test_pipelined_requests_are_answered_in_order(url: str) -> None:
    requests = [
        head("GET", "/live"),
        head("POST", "/similarity", AS_READER, length=len(PAIR)) + PAIR,
        head("GET", "/nosuch", AS_READER),
        head("GET", "/live", "x: " + "y" * 6000),
        head("GET", "/collections"),
    ] * 20
    with open_connection(url) as connection:
        connection.sendall(b"".join(requests))
        answers = answers_to_the_end(connection)
    assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"200", b"200", b"404", b"200", b"401"] * 20 + [b"200"]
    assert answers.count(b'"scores":[') == 20


def test_resets_amid_pipelined_answers_are_logged_without_traceback(
    url: str, anyone: httpx2.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    pairs = json.dumps({"pairs": 100 * [{"a": "A cat sat.", "b": "A dog ran."}]}).encode()  # takes longer than a reset

    def reset_after(answers: int) -> None:
        with open_connection(url) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close by a reset
            connection.sendall(6 * (head("POST", "/similarity", AS_READER, length=len(pairs)) + pairs))
            received = b""
            while received.count(b'"scores"') < answers:
                received += connection.recv(65_536)

    def cut_off() -> bool:
        for answers in range(6):
            reset_after(answers)
        return "POST /similarity 499" in caplog.text

    until(cut_off, "a request whose client left")
    assert anyone.get("/live").status_code == 200
    assert "Traceback" not in caplog.text


def test_garbage_after_a_request_leaves_its_answer_intact(url: str) -> None:
    with open_connection(url) as connection:
        connection.sendall(head("POST", "/similarity", AS_READER, length=len(PAIR)) + PAIR + b"\x00garbage\r\n\r\n")
        answer = read_answer(connection)
        assert (answer.status, len(answer.json["scores"])) == (200, 1)
        assert connection.recv(1) == b""


def test_a_flood_on_one_connection_neither_grows_memory_nor_blocks(url: str, anyone: httpx2.Client) -> None:
    """Endless tiny requests whose answers are not read, and a body over the limit."""
    before, tiny = resident_mb(), head("GET", "/live") * 1000
    with open_connection(url) as flood, open_connection(url) as large:
        flood.setblocking(False)
        large.sendall(head("POST", "/similarity", AS_READER, length=10_000_000))
        sent = full = 0
        while full < 50 and sent < 200_000_000:
            assert anyone.get("/live").status_code == 200
            try:
                sent += flood.send(tiny)
            except BlockingIOError:
                full += 1
        assert full == 50, "the service reads on although its answers are not read"
        assert read_answer(large).status == 413
    assert resident_mb() - before < 50


def resident_mb() -> float:
    """Memory of this process, of which the service is a part."""
    return int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024


def test_an_idle_connection_is_closed_after_its_time(tmp_path: Path) -> None:
    with application(tmp_path, keep_alive_s=STRIKES_S) as address, open_connection(address) as connection:
        for _ in range(2):
            connection.sendall(head("GET", "/live"))
            assert read_answer(connection).status == 200
        require_closed(connection)


def test_an_idle_connection_outlasts_those_of_load_balancers() -> None:
    """Of nginx and AWS 60 seconds, of Oracle 300, of Google 600."""
    settings = Settings()
    assert _uvicorn_config(FastAPI(), settings).timeout_keep_alive == settings.keep_alive_s > 600


def test_the_longest_idle_connections_are_evicted_first(url: str, anyone: httpx2.Client) -> None:
    with begin_pair(url, AS_READER) as busy, ExitStack() as stack:
        idle = []
        for _ in range(5 * CONNECTIONS):
            idle.append(stack.enter_context(open_connection(url)))
            if len(idle) == 2 * CONNECTIONS:
                assert httpx2.get(f"{url}/live", timeout=120).status_code == 200
        assert httpx2.get(f"{url}/live", timeout=120).status_code == 200
        require_closed(idle[0])
        idle[-1].sendall(head("GET", "/live"))
        assert read_answer(idle[-1]).status == 200, "the youngest stays open"
        busy.sendall(PAIR[10:])
        assert read_answer(busy).status == 200, "a connection that is being served is not evicted"
    assert anyone.get("/live").status_code == 200


def test_a_new_connection_is_closed_if_all_are_busy(url: str, anyone: httpx2.Client) -> None:
    with ExitStack() as stack:
        busy = [stack.enter_context(begin_pair(url, AS_READER)) for _ in range(CONNECTIONS)]
        require_closed(stack.enter_context(open_connection(url)))
        for connection in busy:
            connection.sendall(PAIR[10:])
        assert [read_answer(connection).status for connection in busy] == [200] * CONNECTIONS
    assert anyone.get("/live").status_code == 200
