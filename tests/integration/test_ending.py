"""Graceful shutdown: running requests finish, new ones are refused, and the process ends."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import httpx2
import pytest

from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from tests.integration.conftest import code_of, served
from tests.integration.raw_http import PAIR, begin_pair, open_connection, read_answer, require_closed
from tests.support.project import PROJECT
from tests.support.running_service import Service
from tests.support.servers.word_models import write_model
from tests.support.waiting import CEILING_S, until

pytestmark = pytest.mark.waits

SECONDS_OF_WORK = {"pairs": [{"a": f"{i} " + "cat " * 240, "b": f"{i} " + "dog " * 240} for i in range(24)]}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Starts a service with word vectors, and two minutes to cut off requests."""
    made: list[Service] = []

    def start(**settings: str) -> Service:
        models = f"words={write_model(tmp_path / 'words.npz', 0)}"
        all_settings = {"models": models, **settings}
        made.append(Service(tmp_path, PROJECT, "tests.integration.patient_ending", None, **all_settings))
        made[0].start()
        return made[0]

    yield start
    for service in made:
        service.kill()


def messages_of_the_end(service: Service) -> list[str]:
    """What the log says about the shutdown; requests apart."""
    lines = [json.loads(line) for line in service.log.read_text().splitlines()]
    loggers = ("semblance.service.process.server", "semblance.service.cli.serve")
    messages = [line["message"] for line in lines if line["logger"] in loggers]
    return messages[1:]  # without that of the start


def write_until_refused(url: str, began: threading.Event) -> list[str]:
    """The ids of the acknowledged documents."""
    acknowledged: list[str] = []
    with httpx2.Client(base_url=url, timeout=120) as client, suppress(httpx2.TransportError):
        while True:
            name = f"d{len(acknowledged)}"
            documents = [{"id": name, "text": f"Document {name}."}]
            answer = client.post("/collections/written/documents", json={"documents": documents})
            if answer.status_code == 503:
                break
            assert answer.status_code == 200, answer.text
            acknowledged.append(name)
            began.set()
    return acknowledged


def test_sigterm_finishes_running_requests_and_refuses_new_ones(tmp_path: Path) -> None:
    with (
        served(tmp_path, models="minilm", drain_s="600") as (service, api),
        ThreadPoolExecutor(2) as pool,
        begin_pair(service.url) as slow,
    ):
        api.collection("written")
        began = threading.Event()
        writing = pool.submit(write_until_refused, service.url, began)
        assert began.wait(CEILING_S)
        working = pool.submit(api.post, "/similarity", SECONDS_OF_WORK)
        until(lambda: working.done() or queued_tokens(service.url), "texts in the queue")
        service.process.send_signal(signal.SIGTERM)
        until(lambda: is_refused(service.url), "a closed port")
        answer = working.result()
        assert (answer.status_code, len(answer.json()["scores"])) == (200, 24)
        slow.sendall(PAIR[10:])
        assert read_answer(slow).status == 200
        assert service.process.wait(CEILING_S) == 0
        acknowledged = writing.result()
        assert acknowledged
        begun, drained, exiting = messages_of_the_end(service)
        assert re.fullmatch(r"SIGTERM: draining for at most 600 s; requests running: [1-9]", begun)
        assert drained.endswith("requests cut off: 0")
        assert exiting == "exiting with code 0"
    with closing(SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))) as store:
        assert set(acknowledged) <= {document.id for document in store.scan("written", "", 10_000)[0]}


def is_refused(url: str) -> bool:
    """Whether a load balancer may send a write elsewhere, as nothing of it was sent here."""
    try:
        answer = httpx2.get(f"{url}/live", timeout=120)
    except httpx2.ConnectError:
        return True
    except httpx2.TransportError:  # accepted just before
        return False
    assert code_of(answer) == (503, "not_ready")
    return False


def queued_tokens(url: str) -> bool:
    """Whether texts wait for the model."""
    metrics = httpx2.get(f"{url}/metrics", timeout=120).text
    return 'semblance_queued_tokens{urgency="interactive"} 0.0' not in metrics


def test_a_service_serves_until_its_notice_is_over(start: Callable[..., Service]) -> None:
    """A second signal ends the notice, which is too long to wait for."""
    service = start(drain_s="1200", drain_notice_s="600")
    service.process.send_signal(signal.SIGTERM)
    begun = until(lambda: messages_of_the_end(service), "the log line of the signal")
    assert begun == ["SIGTERM: draining for at most 1200 s; requests running: 0"]
    with httpx2.Client(base_url=service.url, timeout=120) as client:
        for path in ("/ready", "/health"):
            answer = client.get(path)
            assert (answer.status_code, answer.json()["code"]) == (503, "not_ready"), path
            assert (answer.headers["connection"], answer.headers["retry-after"]) == ("close", "1")
        for answer in (client.get("/live"), client.put("/collections/written")):
            assert (answer.is_success, answer.headers["connection"]) == (True, "close")
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(CEILING_S) == 0


def test_hanging_requests_are_cut_off_in_time(start: Callable[..., Service]) -> None:
    service = start(drain_s="121")
    with open_connection(service.url) as silent, begin_pair(service.url) as hung:
        service.process.send_signal(signal.SIGTERM)
        assert read_answer(hung).status == 503
        assert service.process.wait(CEILING_S) == 0
        require_closed(silent)
    _, cut_off, drained, _ = messages_of_the_end(service)
    assert cut_off == "the time to drain is over; requests still running, which are cut off: 1"
    assert drained.endswith("requests cut off: 1")


@pytest.mark.parametrize("count", [1, 2])
def test_ctrl_c_skips_the_notice_and_a_second_cuts_off(start: Callable[..., Service], count: int) -> None:
    service = start(drain_s="1200", drain_notice_s="600")
    with begin_pair(service.url) as slow:
        service.process.send_signal(signal.SIGINT)
        until(lambda: messages_of_the_end(service), "the log line of the signal")
        if count == 1:
            slow.sendall(PAIR[10:])
        else:
            service.process.send_signal(signal.SIGINT)
        assert read_answer(slow).status == (200 if count == 1 else 503)
        assert service.process.wait(CEILING_S) == 0
        begun, *others, _ = messages_of_the_end(service)
        assert begun == "SIGINT: draining for at most 1200 s; requests running: 1"
        assert [other for other in others if other.startswith("a second signal came")] == others[: count - 1]


def test_a_lost_device_ends_the_process_with_an_error(tmp_path: Path, small: Path) -> None:
    settings = {"runtime": "torch", "models": f"small={small}", "drain_s": "600"}
    service = Service(tmp_path, PROJECT, "tests.integration.losing_device", None, **settings)
    try:
        url = service.start()
        lost = httpx2.post(f"{url}/similarity", json={"pairs": [{"a": "unplug it", "b": "now"}]}, timeout=120)
        assert code_of(lost) == (503, "not_ready")
        assert service.process.wait(CEILING_S) == 1
        log = service.log.read_text()
        assert "device or model thread failed" in log
        assert "unplug it" not in log
        assert messages_of_the_end(service)[-1] == "exiting with code 1"
    finally:
        service.kill()
