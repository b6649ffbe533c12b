"""Limits on connections at a running service, and that others are served meanwhile."""

from __future__ import annotations

import re
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import httpx2
import pytest

from tests.integration.edge.conftest import AS_READER, BODY_S, CONNECTIONS, HEADER_BYTES, HEADER_S, PAUSE_S
from tests.integration.raw_http import PAIR, chunk, head, open_connection, read_answer, seconds_until_closed
from tests.support.running_service import Service

pytestmark = pytest.mark.timed

CHUNKED = head("POST", "/similarity", AS_READER, "content-type: application/json", "transfer-encoding: chunked")


@pytest.mark.parametrize(("length", "status"), [(HEADER_BYTES - 100, 200), (HEADER_BYTES, 431), (3_000_000, 431)])
def test_headers_up_to_the_limit(service: Service, length: int, status: int) -> None:
    with open_connection(service.url) as connection:
        connection.sendall(head("GET", "/live", "x: " + "y" * length))
        answer = read_answer(connection)
        assert answer.status == status
        if status == 431:
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json["code"] == "headers_too_large"
            assert connection.recv(1) == b"", "the connection is closed"


def test_long_urls_and_many_small_headers_count(service: Service) -> None:
    for request in (
        head("GET", "/explain?a=" + "y" * HEADER_BYTES),
        head("GET", "/live", *[f"x{i}: y" for i in range(1500)]),
        b"GET /live HTTP/1.1\r\n" + b"x" * 100_000,
    ):
        with open_connection(service.url) as connection:
            connection.sendall(request)
            assert read_answer(connection).status == 431


@pytest.mark.parametrize(
    ("ends", "piece"),
    [
        (b"0\r\n", b"x: " + b"y" * 1000 + b"\r\n"),
        (b"1\r\n{\r\n0\r\n", b"x: " + b"y" * 1000 + b"\r\n"),
        (b"0\r\nx: ", b"y" * 1000),
        (b"1;a=", b"y" * 1000),
    ],
)
def test_endless_trailers_use_no_memory_and_are_cut_off(service: Service, ends: bytes, piece: bytes) -> None:
    """Many trailers, one that never ends, and a chunk extension that never ends."""
    before = resident_mb(service)
    began = time.perf_counter()
    with open_connection(service.url) as connection, suppress(OSError):
        connection.sendall(CHUNKED + ends)
        while time.perf_counter() - began < 10:
            connection.sendall(10 * piece)
    assert time.perf_counter() - began < 5
    assert resident_mb(service) - before < 20


@pytest.mark.parametrize("ends", [b"0\r\n", b"1;a="])
def test_endless_trailers_get_a_reason(service: Service, ends: bytes) -> None:
    with open_connection(service.url) as connection:
        connection.sendall(CHUNKED + ends + b"x" * (HEADER_BYTES + 3 * 4096))
        answer = read_answer(connection)
        assert (answer.status, answer.json["code"]) == (431, "headers_too_large")
        assert connection.recv(1) == b""


def test_trailers_do_not_count_as_headers(service: Service) -> None:
    """A key that comes after the body opens nothing, and one that came before stays."""
    unauthorized = head("POST", "/similarity", "transfer-encoding: chunked", "content-type: application/json")
    for request, status in ((CHUNKED, 200), (unauthorized, 401)):
        with open_connection(service.url) as connection:
            connection.sendall(request + chunk(PAIR) + b"0\r\n" + AS_READER.encode() + b"\r\n\r\n")
            assert read_answer(connection).status == status
            connection.sendall(head("GET", "/live"))
            assert read_answer(connection).status == 200


@pytest.mark.parametrize("size", [1, 50, 100_000])
def test_an_offer_to_upgrade_is_ignored(service: Service, size: int) -> None:
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
    with open_connection(service.url) as connection:
        for start in range(0, len(requests), size):
            connection.sendall(requests[start : start + size])
        connection.sendall(head("GET", "/live", "connection: close"))
        answers = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"200", b"200", b"200", b"200", b"401", b"200"]
    assert answers.count(b'"scores":[') == 2


def test_small_chunks_of_a_large_body_are_accepted(service: Service) -> None:
    body = PAIR.replace(b"A cat.", b"A cat." + b" " * 2 * HEADER_BYTES)
    with open_connection(service.url) as connection:
        connection.sendall(CHUNKED + b"".join(chunk(bytes([letter])) for letter in body) + chunk(b""))
        assert read_answer(connection).status == 200


def test_bytes_that_are_no_http_get_a_problem(service: Service) -> None:
    with open_connection(service.url) as connection:
        connection.sendall(b"\x16\x03\x01 a greeting in TLS\r\n\r\n")
        answer = read_answer(connection)
        assert (answer.status, answer.json["code"]) == (400, "malformed_http")
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_unfinished_heads_time_out(service: Service) -> None:
    """Of clients that are silent, stop, trickle, or stop in their second request."""

    def trickling(connection: socket.socket) -> float:
        began = time.perf_counter()
        with suppress(OSError):
            for letter in b"GET /live HTTP/1.1\r\nx-slow: " + b"y" * 100:
                connection.sendall(bytes([letter]))
                time.sleep(0.1)
        return time.perf_counter() - began

    with ExitStack() as stack, ThreadPoolExecutor(5) as pool:
        silent, stopping, blank, second, slow = (stack.enter_context(open_connection(service.url)) for _ in range(5))
        stopping.sendall(b"GET /live HT")
        blank.sendall(b"\r\n")
        second.sendall(head("GET", "/live"))
        assert read_answer(second).body == b'{"status":"live"}'
        second.sendall(b"GET /li")
        waits = [pool.submit(seconds_until_closed, each) for each in (silent, stopping, blank, second)]
        waits.append(pool.submit(trickling, slow))
        for wait in waits:
            assert HEADER_S - 0.5 < wait.result() < HEADER_S + 2


def test_a_body_that_stops_or_trickles_gets_408(service: Service) -> None:
    for pieces, least, most in ((0, PAUSE_S, PAUSE_S + 1), (18, BODY_S, BODY_S + 1)):
        with open_connection(service.url) as connection:
            began = time.perf_counter()
            connection.sendall(head("POST", "/similarity", AS_READER, length=500) + b"{")
            for _ in range(pieces):
                time.sleep(0.15)
                connection.sendall(b" ")
            answer = read_answer(connection)
            assert least - 0.2 < time.perf_counter() - began < most
            assert (answer.status, answer.json["code"]) == (408, "body_timeout")
            assert answer.headers["connection"] == "close"


def test_a_slow_body_in_time_is_served_and_stays_connected(service: Service) -> None:
    with open_connection(service.url) as connection:
        for _ in range(2):
            connection.sendall(head("POST", "/similarity", AS_READER, length=len(PAIR)))
            for start in range(0, len(PAIR), 10):
                connection.sendall(PAIR[start : start + 10])
                time.sleep(0.1)
            answer = read_answer(connection)
            assert answer.status == 200
            assert len(answer.json["scores"]) == 1


def test_pipelined_requests_are_answered_in_order(service: Service) -> None:
    requests = [
        head("GET", "/live"),
        head("POST", "/similarity", AS_READER, length=len(PAIR)) + PAIR,
        head("GET", "/nosuch", AS_READER),
        head("GET", "/live", "x: " + "y" * 6000),
        head("GET", "/collections"),
    ] * 20
    with open_connection(service.url) as connection:
        connection.sendall(b"".join([*requests, head("GET", "/live", "connection: close")]))
        answers = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"200", b"200", b"404", b"200", b"401"] * 20 + [b"200"]
    assert answers.count(b'"scores":[') == 20


def test_resets_amid_pipelined_answers_are_logged_without_traceback(service: Service, anyone: httpx2.Client) -> None:
    before = len(service.log.read_text())
    for i in range(30):
        body = PAIR.replace(b"cat", b"cat number %d" % i)  # not cached, so that answers take some time
        with open_connection(service.url) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close by a reset
            connection.sendall(6 * (head("POST", "/similarity", AS_READER, length=len(body)) + body))
            time.sleep(0.002 * (i % 5))
    assert anyone.get("/live").status_code == 200
    deadline = time.monotonic() + 10
    while " 499" not in (logged := service.log.read_text()[before:]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert "POST /similarity 499" in logged
    assert "Traceback" not in logged


def test_garbage_after_a_request_leaves_its_answer_intact(service: Service) -> None:
    with open_connection(service.url) as connection:
        connection.sendall(head("POST", "/similarity", AS_READER, length=len(PAIR)) + PAIR + b"\x00garbage\r\n\r\n")
        answer = read_answer(connection)
        assert (answer.status, len(answer.json["scores"])) == (200, 1)
        assert connection.recv(1) == b""


def test_a_flood_on_one_connection_neither_grows_memory_nor_blocks(service: Service, anyone: httpx2.Client) -> None:
    """Endless tiny requests whose answers are not read, and a body over the limit."""
    before = resident_mb(service)
    tiny = head("GET", "/live") * 10_000
    with open_connection(service.url) as flood, open_connection(service.url) as large:
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
        assert read_answer(large).status == 413
    assert resident_mb(service) - before < 50


def resident_mb(service: Service) -> float:
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def test_the_longest_idle_connections_are_evicted_first(service: Service, anyone: httpx2.Client) -> None:
    with ExitStack() as stack:
        busy = stack.enter_context(open_connection(service.url))
        busy.sendall(head("POST", "/similarity", AS_READER, length=len(PAIR)) + PAIR[:5])
        idle = []
        for _ in range(5 * CONNECTIONS):
            idle.append(stack.enter_context(open_connection(service.url)))
            if len(idle) == 2 * CONNECTIONS:
                assert httpx2.get(f"{service.url}/live").status_code == 200
        assert httpx2.get(f"{service.url}/live").status_code == 200
        assert seconds_until_closed(idle[0]) < 0.5
        idle[-1].sendall(head("GET", "/live"))
        assert read_answer(idle[-1]).status == 200, "the youngest stays open"
        busy.sendall(PAIR[5:])
        assert read_answer(busy).status == 200, "a connection that is being served is not evicted"
    assert anyone.get("/live").status_code == 200


def test_a_new_connection_is_closed_if_all_are_busy(service: Service, anyone: httpx2.Client) -> None:
    with ExitStack() as stack:
        busy = [stack.enter_context(open_connection(service.url)) for _ in range(CONNECTIONS)]
        for connection in busy:
            connection.sendall(head("POST", "/similarity", AS_READER, length=len(PAIR)) + PAIR[:5])
        time.sleep(0.3)
        with open_connection(service.url) as one_more:
            assert seconds_until_closed(one_more) < 0.5
        for connection in busy:
            connection.sendall(PAIR[5:])
        assert [read_answer(connection).status for connection in busy] == [200] * CONNECTIONS
    assert anyone.get("/live").status_code == 200
