"""A disk that is full or fails refuses writes with a documented answer, loses nothing, and delays no read."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.conftest import missing
from tests.support.project import PROJECT
from tests.support.running_service import SEMBLANCE, Service, running_process
from tests.support.servers.small_disk import SmallDisk
from tests.support.servers.word_models import write_model

DISK_BYTES = 8 << 20
SOME_BYTES = 4096
TEXT = "brala " * 2000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A file system of 8 MB."""
    disk = SmallDisk.mount(tmp_path / "disk", DISK_BYTES)
    if disk is None:
        missing("the right to mount a small disk")
    yield disk
    disk.unmount()


def full(service: Service, disk: SmallDisk) -> AbstractContextManager[None]:
    """Leave no byte on the disk for the time of the block."""
    del service
    return disk.full()


@contextmanager
def failing(service: Service, disk: SmallDisk) -> Iterator[None]:
    """Let no file of the service grow for the time of the block."""
    del disk
    pid = service.process.pid
    hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (SOME_BYTES, hard))
    yield
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))


def upload(http: httpx2.Client, first: int, last: int) -> httpx2.Response:
    documents = [{"id": f"d{number}", "text": f"{number} {TEXT}"} for number in range(first, last)]
    return http.post("/collections/c/documents", json={"documents": documents})


def stream(http: httpx2.Client, first: int, last: int) -> list[Any]:
    lines = "".join(json.dumps({"id": f"d{n}", "text": f"{n} {TEXT}"}) + "\n" for n in range(first, last))
    headers = {"content-type": "application/x-ndjson"}
    answer = http.post("/collections/c/documents", content=lines, headers=headers)
    return [json.loads(line) for line in answer.text.splitlines()]


def found(http: httpx2.Client) -> list[str]:
    body = {"query": "brala", "collection": "c", "k": 1000}
    [result] = http.post("/search", json=body).raise_for_status().json()["results"]
    return sorted(hit["id"] for hit in result["hits"])


@pytest.mark.parametrize(("trouble", "code"), [(full, "store_full"), (failing, "store_failed")])
def test_writes_are_refused_until_the_disk_works_again(
    small_disk: SmallDisk, trouble: Callable[[Service, SmallDisk], Any], code: str, tmp_path: Path
) -> None:
    words = write_model(tmp_path / "words.npz", seed=0)
    with (
        running_process(PROJECT, small_disk.folder, models=f"words={words}", snapshot_s="1") as service,
        httpx2.Client(base_url=service.url, timeout=120) as http,
    ):
        http.put("/collections/c").raise_for_status()
        upload(http, 0, 20).raise_for_status()
        before = found(http)
        with trouble(service, small_disk):
            refused = upload(http, 20, 220)
            assert (refused.status_code, refused.json()["code"]) == (503, code)
            assert found(http) == before, "reads go on, and nothing is stored in part"
            last = stream(http, 20, 220)[-1]
            assert (last["done"], last["error"]) == (False, code)
            ready = http.get("/ready")
            assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
            assert ready.json()["checks"]["store_writable"] is False
            stored = found(http)
            assert set(before) <= set(stored), "batches of the stream that were acknowledged"
        upload(http, 220, 240).raise_for_status()
        assert http.get("/ready").json()["status"] == "ready"
        assert found(http) == sorted([*stored, *(f"d{number}" for number in range(220, 240))])
    verified = subprocess.run(
        [sys.executable, "-m", SEMBLANCE, "index", "verify", "--home", small_disk.folder],
        capture_output=True,
        check=False,
        cwd=PROJECT,
    )
    assert b"No faults found." in verified.stdout, verified
