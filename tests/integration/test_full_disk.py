"""A disk that is full or fails refuses writes with a documented answer, loses nothing, and delays no read."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.conftest import missing
from tests.integration.conftest import Api, code_of, served
from tests.support.command_line import semblance
from tests.support.running_service import Service
from tests.support.servers.small_disk import SmallDisk
from tests.support.servers.word_models import write_model

DISK_BYTES = 24 << 20
SOME_BYTES = 4096
TEXT = "brala " + 12_000 * "x"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A file system of 24 MB."""
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


def found(api: Api) -> list[str]:
    return sorted(hit["id"] for hit in api.hits("brala", collection="c", k=1000))


@pytest.mark.parametrize(("trouble", "code"), [(full, "store_full"), (failing, "store_failed")])
def test_writes_are_refused_until_the_disk_works_again(
    small_disk: SmallDisk, trouble: Callable[[Service, SmallDisk], Any], code: str, tmp_path: Path
) -> None:
    words = write_model(tmp_path / "words.npz", seed=0)
    with served(small_disk.folder, models=f"words={words}", snapshot_s="1") as (service, api):
        http = api.http
        api.collection("c")
        upload(http, 0, 20).raise_for_status()
        before = found(api)
        with trouble(service, small_disk):
            refused = upload(http, 20, 120)
            assert code_of(refused) == (503, code)
            assert found(api) == before, "reads go on, and nothing is stored in part"
            lines = (json.dumps({"id": f"d{n}", "text": f"{n} {TEXT}"}) + "\n" for n in range(20, 120))
            last = api.lines("c", "".join(lines).encode())[-1]
            assert (last["done"], last["error"]) == (False, code)
            ready = http.get("/ready")
            assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
            assert ready.json()["checks"]["store_writable"] is False
            page = http.get("/metrics").text
            assert "semblance_store_writable 0.0" in page
            assert trouble is failing or "semblance_disk_free_bytes 0.0" in page
            stored = found(api)
            assert set(before) <= set(stored), "batches of the stream that were acknowledged"
        upload(http, 220, 240).raise_for_status()
        assert http.get("/ready").json()["status"] == "ready"
        assert found(api) == sorted([*stored, *(f"d{number}" for number in range(220, 240))])
    assert "No faults found." in semblance("index", "verify", "--home", str(small_disk.folder)).stdout


def test_deletions_go_on_while_the_disk_is_full(small_disk: SmallDisk, tmp_path: Path) -> None:
    words = write_model(tmp_path / "words.npz", seed=0)
    with served(small_disk.folder, models=f"words={words}", snapshot_s="1") as (service, api):
        http = api.http
        api.collection("c")
        upload(http, 0, 150).raise_for_status()
        http.post("/collections/c/documents", json={"documents": [{"id": "kept", "text": "brala"}]}).raise_for_status()
        with full(service, small_disk):
            assert code_of(upload(http, 200, 400)) == (503, "store_full")
            for number in range(50):
                http.delete(f"/collections/c/documents/d{number}").raise_for_status()
            http.post("/collections/c/delete", json={"ids": ["d50", "d51"]}).raise_for_status()
            assert len(found(api)) == 99
            api.collection("other")
            http.delete("/collections/c").raise_for_status()
        upload(http, 400, 410)
