"""How the service ends: on a signal it finishes what is under way, refuses what is new, and is gone in time."""

from __future__ import annotations

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

from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
from tests.integration.raw_http import PAIR, answer_on, dialled, head
from tests.support.running_service import Service, running_process

pytestmark = pytest.mark.alone

JSON = {"content-type": "application/json"}
SECONDS_OF_WORK = {"pairs": [{"a": f"{i} " + "cat " * 240, "b": f"{i} " + "dog " * 240} for i in range(24)]}


@contextmanager
def half_sent(service: Service) -> Iterator[socket.socket]:
    """A request of which the last half of the body is to come."""
    with dialled(service.url) as connection:
        connection.sendall(head("POST", "/similarity", length=len(PAIR)) + PAIR[:10])
        time.sleep(0.3)
        yield connection


def ended_after(service: Service, signalled: float) -> tuple[int, float]:
    """Its exit code, and seconds since the signal."""
    return service.process.wait(60), time.monotonic() - signalled


def write_until_refused(url: str, began: threading.Event) -> list[str]:
    """The ids of the documents whose storing was acknowledged."""
    acknowledged: list[str] = []
    with httpx2.Client(base_url=url, timeout=30) as client:
        while True:
            name = f"d{len(acknowledged)}"
            try:
                documents = [{"id": name, "text": f"Document {name}."}]
                answer = client.post("/collections/kept/documents", json={"documents": documents})
            except httpx2.TransportError:
                return acknowledged
            if answer.status_code == 503:
                return acknowledged
            assert answer.status_code == 200, answer.text
            acknowledged.append(name)
            began.set()


def test_sigterm_finishes_what_is_under_way_and_refuses_what_is_new(tmp_path: Path) -> None:
    with (
        running_process(home=tmp_path, drain_s="30", drain_notice_s="2") as service,
        httpx2.Client(base_url=service.url, timeout=60) as kept_open,
        ThreadPoolExecutor(2) as pool,
        half_sent(service) as slow,
    ):
        assert kept_open.put("/collections/kept").status_code == 201
        began = threading.Event()
        writing = pool.submit(write_until_refused, service.url, began)
        assert began.wait(30)
        working = pool.submit(httpx2.post, f"{service.url}/similarity", json=SECONDS_OF_WORK, timeout=60)
        time.sleep(0.5)
        service.process.send_signal(signal.SIGTERM)
        signalled = time.monotonic()
        for method, path in (("GET", "/live"), ("GET", "/ready"), ("POST", "/similarity"), ("GET", "/nonsense")):
            answer = kept_open.request(method, path)
            assert (answer.status_code, answer.json()["code"]) == (503, "not_ready"), path
            assert answer.headers["content-type"] == "application/problem+json"
            assert (answer.headers["connection"], answer.headers["retry-after"]) == ("close", "1")
        time.sleep(max(0.0, signalled + 2.5 - time.monotonic()))
        assert httpx2.get(f"{service.url}/live").status_code == 503, "the port is open while a request is under way"
        slow.sendall(PAIR[10:])
        assert answer_on(slow).status == 200
        answer = working.result()
        assert (answer.status_code, len(answer.json()["scores"])) == (200, 24)
        code, seconds = ended_after(service, signalled)
        assert (code, seconds < 30) == (0, True)
        acknowledged = writing.result()
        assert acknowledged
    store = SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))
    try:
        assert set(acknowledged) <= {document.id for document in store.scan("kept", "", 10_000)}
    finally:
        store.close()


def test_what_hangs_is_cut_off_and_the_process_is_gone_in_time() -> None:
    with running_process(drain_s="3", drain_notice_s="0.5", body_pause_s="60") as service:
        with dialled(service.url) as silent, half_sent(service) as hung:
            service.process.send_signal(signal.SIGTERM)
            signalled = time.monotonic()
            assert answer_on(hung).status == 503
            code, seconds = ended_after(service, signalled)
            assert silent.recv(1) == b""
        assert code == 0
        assert 2 < seconds < 3.5


@pytest.mark.parametrize("count", [1, 2])
def test_ctrl_c_needs_no_notice_and_a_second_one_cuts_off_at_once(count: int) -> None:
    with running_process(drain_s="20", drain_notice_s="10", body_pause_s="60") as service, half_sent(service) as slow:
        service.process.send_signal(signal.SIGINT)
        signalled = time.monotonic()
        time.sleep(0.5)
        if count == 1:
            slow.sendall(PAIR[10:])
        else:
            service.process.send_signal(signal.SIGINT)
        assert answer_on(slow).status == (200 if count == 1 else 503)
        code, seconds = ended_after(service, signalled)
        assert (code, seconds < 5) == (0, True)


def test_a_lost_device_ends_the_process_with_a_failure_so_that_another_takes_its_place(tmp_path: Path) -> None:
    service = Service(tmp_path, module="tests.integration.losing_device", runtime="torch")
    try:
        url = service.start()
        assert httpx2.post(f"{url}/similarity", content=PAIR, headers=JSON).status_code == 200
        lost = httpx2.post(f"{url}/similarity", json={"pairs": [{"a": "unplug it", "b": "now"}]}, timeout=30)
        assert (lost.status_code, lost.json()["code"]) == (503, "not_ready")
        code, seconds = ended_after(service, time.monotonic())
        assert (code, seconds < 10) == (1, True)
        log = service.log.read_text()
        assert "the device is lost, or its thread" in log
        assert "unplug it" not in log
    finally:
        service.kill()
