"""Graceful shutdown: running requests finish, new ones are refused, and the process ends in time."""

from __future__ import annotations

import json
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from tests.integration.raw_http import PAIR, head, open_connection, read_answer
from tests.support.running_service import Service, running_process

pytestmark = pytest.mark.timed

JSON = {"content-type": "application/json"}
SECONDS_OF_WORK = {"pairs": [{"a": f"{i} " + "cat " * 240, "b": f"{i} " + "dog " * 240} for i in range(24)]}


@contextmanager
def half_sent(service: Service) -> Iterator[socket.socket]:
    """A request whose body is sent in part."""
    with open_connection(service.url) as connection:
        connection.sendall(head("POST", "/similarity", length=len(PAIR)) + PAIR[:10])
        time.sleep(0.3)
        yield connection


def wait_for_exit(service: Service, signalled: float) -> tuple[int, float]:
    """The exit code, and seconds since the signal."""
    return service.process.wait(60), time.monotonic() - signalled


def messages_of_the_end(service: Service) -> list[str]:
    """What the log says about the shutdown; requests apart."""
    lines = [json.loads(line) for line in service.log.read_text().splitlines()]
    loggers = ("semblance.service.process.server", "semblance.service.cli.serve")
    messages = [line["message"] for line in lines if line["logger"] in loggers]
    return messages[1:]  # without that of the start


def write_until_refused(url: str, began: threading.Event) -> list[str]:
    """The ids of the acknowledged documents."""
    acknowledged: list[str] = []
    with httpx2.Client(base_url=url, timeout=30) as client:
        while True:
            name = f"d{len(acknowledged)}"
            try:
                documents = [{"id": name, "text": f"Document {name}."}]
                answer = client.post("/collections/written/documents", json={"documents": documents})
            except httpx2.TransportError:
                return acknowledged
            if answer.status_code == 503:
                return acknowledged
            assert answer.status_code == 200, answer.text
            acknowledged.append(name)
            began.set()


def test_sigterm_finishes_running_requests_and_refuses_new_ones(tmp_path: Path) -> None:
    with (
        running_process(home=tmp_path, drain_s="30", drain_notice_s="2") as service,
        httpx2.Client(base_url=service.url, timeout=60) as client,
        ThreadPoolExecutor(2) as pool,
        half_sent(service) as slow,
    ):
        assert client.put("/collections/written").status_code == 201
        began = threading.Event()
        writing = pool.submit(write_until_refused, service.url, began)
        assert began.wait(30)
        working = pool.submit(httpx2.post, f"{service.url}/similarity", json=SECONDS_OF_WORK, timeout=60)
        time.sleep(0.5)
        service.process.send_signal(signal.SIGTERM)
        signalled = time.monotonic()
        for method, path in (("GET", "/live"), ("GET", "/ready"), ("POST", "/similarity"), ("GET", "/nonsense")):
            answer = client.request(method, path)
            assert (answer.status_code, answer.json()["code"]) == (503, "not_ready"), path
            assert answer.headers["content-type"] == "application/problem+json"
            assert (answer.headers["connection"], answer.headers["retry-after"]) == ("close", "1")
        time.sleep(max(0.0, signalled + 2.5 - time.monotonic()))
        assert httpx2.get(f"{service.url}/live").status_code == 503, "the port is open while a request is running"
        slow.sendall(PAIR[10:])
        assert read_answer(slow).status == 200
        answer = working.result()
        assert (answer.status_code, len(answer.json()["scores"])) == (200, 24)
        code, seconds = wait_for_exit(service, signalled)
        assert (code, seconds < 30) == (0, True)
        acknowledged = writing.result()
        assert acknowledged
        begun, drained, exiting = messages_of_the_end(service)
        # The half-sent pair and the similarity; on a busy machine also a write and the first of the refused requests.
        assert re.fullmatch(r"SIGTERM: draining for at most 30 s; requests running: [2-4]", begun)
        assert re.fullmatch(r"drained in [2-9]\.\d s; requests cut off: 0", drained)
        assert exiting == "exiting with code 0"
    store = SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))
    try:
        assert set(acknowledged) <= {document.id for document in store.scan("written", "", 10_000)[0]}
    finally:
        store.close()


def test_hanging_requests_are_cut_off_in_time() -> None:
    with running_process(drain_s="3", drain_notice_s="0.5", body_pause_s="60") as service:
        with open_connection(service.url) as silent, half_sent(service) as hung:
            service.process.send_signal(signal.SIGTERM)
            signalled = time.monotonic()
            assert read_answer(hung).status == 503
            code, seconds = wait_for_exit(service, signalled)
            assert silent.recv(1) == b""
        assert code == 0
        assert 2 < seconds < 3.5
        _, cut_off, drained, _ = messages_of_the_end(service)
        assert cut_off == "the time to drain is over; requests still running, which are cut off: 1"
        assert drained.endswith("requests cut off: 1")


@pytest.mark.parametrize("count", [1, 2])
def test_ctrl_c_skips_the_notice_and_a_second_cuts_off(count: int) -> None:
    with running_process(drain_s="20", drain_notice_s="10", body_pause_s="60") as service, half_sent(service) as slow:
        service.process.send_signal(signal.SIGINT)
        signalled = time.monotonic()
        time.sleep(0.5)
        if count == 1:
            slow.sendall(PAIR[10:])
        else:
            service.process.send_signal(signal.SIGINT)
        assert read_answer(slow).status == (200 if count == 1 else 503)
        code, seconds = wait_for_exit(service, signalled)
        assert (code, seconds < 5) == (0, True)
        begun, *others, _ = messages_of_the_end(service)
        assert begun == "SIGINT: draining for at most 20 s; requests running: 1"
        assert [other for other in others if other.startswith("a second signal came")] == others[: count - 1]


def test_a_lost_device_ends_the_process_with_an_error(tmp_path: Path) -> None:
    service = Service(tmp_path, module="tests.integration.losing_device", runtime="torch")
    try:
        url = service.start()
        assert httpx2.post(f"{url}/similarity", content=PAIR, headers=JSON).status_code == 200
        lost = httpx2.post(f"{url}/similarity", json={"pairs": [{"a": "unplug it", "b": "now"}]}, timeout=30)
        assert (lost.status_code, lost.json()["code"]) == (503, "not_ready")
        code, seconds = wait_for_exit(service, time.monotonic())
        assert (code, seconds < 10) == (1, True)
        log = service.log.read_text()
        assert "device or model thread failed" in log
        assert "unplug it" not in log
        assert messages_of_the_end(service)[-1] == "exiting with code 1"
    finally:
        service.kill()
