"""Replicas on PostgreSQL and Milvus: what they answer and refuse, also when one of them dies."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from tests.support.project import PROJECT
from tests.support.running_service import SEMBLANCE, Service, reserved_port
from tests.support.servers.milvus_server import MilvusServer
from tests.support.servers.postgres_server import PostgresServer
from tests.support.servers.word_models import WORDS, write_model

pytestmark = [pytest.mark.slow, pytest.mark.timed]

TIMEOUT_S = 2.0
DOCUMENTS = [{"id": f"d{i}", "text": word, "metadata": {"number": i}} for i, word in enumerate(WORDS)]


@pytest.fixture
def replicas(database: PostgresServer, milvus_server: MilvusServer, tmp_path: Path) -> Iterator[list[Service]]:
    """Two replicas without a copy."""
    settings = {
        "models": f"words={write_model(tmp_path / 'words.npz', seed=0)}",
        "database_url": database.url,
        "database_timeout_s": str(TIMEOUT_S),
        "index_url": milvus_server.url,
        "poll_s": "0.2",
        "cache": "none",
    }
    services = []
    for name in "ab":
        (tmp_path / name).mkdir()
        services.append(Service(tmp_path / name, PROJECT, SEMBLANCE, None, **settings))
    try:
        for service in services:
            service.start()
        yield services
    finally:
        for service in services:
            service.stop()


@pytest.fixture
def clients(replicas: list[Service]) -> Iterator[list[httpx2.Client]]:
    """A client of each."""
    with ExitStack() as stack:
        yield [stack.enter_context(client(each)) for each in replicas]


def client(service: Service) -> httpx2.Client:
    return httpx2.Client(base_url=service.url, timeout=30)


def search(http: httpx2.Client, **options: Any) -> tuple[int, Any]:
    answer = http.post("/search", json={"query": WORDS[3], "collection": "c", "k": 5, **options})
    body = answer.json()
    return answer.status_code, [hit["id"] for hit in body["results"][0]["hits"]] if answer.is_success else body["code"]


def store(http: httpx2.Client, documents: list[dict[str, Any]]) -> str:
    answer = http.post("/collections/c/documents", json={"documents": documents})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["version"])


def until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def leader(database: PostgresServer, services: list[Service]) -> Service:
    """The replica whose session has the lock, by the process that holds the connection."""
    with psycopg.connect(database.url) as connection:
        query = (
            "SELECT client_port FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted"
        )
        [(port,)] = connection.execute(query).fetchall()
    [found] = [each for each in services if port in local_ports(each)]
    return found


def local_ports(service: Service) -> set[int]:
    """Local ports of the connections of a process."""
    inodes = set()
    for link in Path(f"/proc/{service.pid}/fd").iterdir():
        target = str(link.readlink())
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    lines = [line.split() for line in Path(f"/proc/{service.pid}/net/tcp").read_text().splitlines()[1:]]
    return {int(fields[1].rpartition(":")[2], 16) for fields in lines if fields[9] in inodes}


def test_replicas_search_what_another_one_stored(clients: list[httpx2.Client], tmp_path: Path) -> None:
    a, b = clients
    assert a.put("/collections/c", json={"index": "exact", "tokens": "int8"}).status_code == 201
    version = store(a, DOCUMENTS)
    assert search(b, min_version=version, k=1) == (200, ["d3"])
    assert search(b, filter={"number": {"gte": 40}}, k=100)[1] != search(b, k=100)[1]
    assert sorted(search(b, filter={"number": {"gte": 46}}, k=100)[1]) == ["d46", "d47"]
    assert search(a, like="d3", query=None, k=1)[1] != ["d3"]
    assert search(b, measure="rcmd", k=1) == (200, ["d3"])
    assert search(b, diversity=0.5)[0] == 200
    explained = b.post("/search", json={"query": WORDS[3], "collection": "c", "k": 1, "explain": True})
    assert explained.json()["results"][0]["hits"][0]["score"] == pytest.approx(1.0, abs=1e-3)
    similar = {"if_similar": {"min_score": 0.99}, "documents": [{"id": "again", "text": WORDS[3]}]}
    answer = a.post("/collections/c/documents", json=similar)
    assert answer.status_code == 200, answer.text
    assert [(each["id"], each["like"]) for each in answer.json()["similar"]] == [("again", "d3")]
    assert a.delete("/collections/c/documents/d3").status_code == 200
    assert search(a, k=1) == (200, ["again"])
    assert 'semblance_index_version_lag{collection="c"} 0.0' in b.get("/metrics").text
    for name in "ab":
        assert not list((tmp_path / name).glob("copy*")), "no copy is kept"
        assert not (tmp_path / name / "indexes").exists()
    assert a.delete("/collections/c").status_code == 204
    assert search(b) == (404, "unknown_collection")


def test_what_needs_a_local_index_is_refused_by_name(clients: list[httpx2.Client]) -> None:
    http = clients[0]
    assert http.put("/collections/c").status_code == 201
    store(http, DOCUMENTS)
    refused = [
        ("/search", {"query": WORDS[0], "collection": "c", "mode": "hybrid"}),
        ("/search", {"query": WORDS[0], "collection": "c", "mode": "lexical"}),
        ("/search", {"query": WORDS[0], "collection": "c", "mode": "auto"}),
        ("/search", {"query": WORDS[0], "collection": "c", "facets": [{"field": "number"}]}),
        ("/collections/c/count", {"filter": {"number": 3}}),
        ("/collections/c/list", {"filter": {"number": 3}}),
        ("/collections/c/delete", {"filter": {"number": 3}}),
        ("/collections/c/map", {}),
        ("/collections/c/duplicates", {"min_score": 0.9}),
    ]
    for path, body in refused:
        answer = http.post(path, json=body)
        assert (answer.status_code, answer.json().get("code")) == (422, "not_with_remote_index"), (path, body)
    assert http.post("/collections/c/delete", json={"ids": ["d1"]}).json()["deleted"] == 1
    assert len(http.get("/collections/c/documents").json()["documents"]) == len(DOCUMENTS) - 1


def test_another_replica_fills_the_index_when_the_leader_is_killed(
    replicas: list[Service], clients: list[httpx2.Client], database: PostgresServer
) -> None:
    a, b = clients
    assert a.put("/collections/c").status_code == 201
    store(a, DOCUMENTS[:10])
    killed = leader(database, replicas)
    [survivor] = [each for each in replicas if each is not killed]
    killed.kill()
    http = a if survivor is replicas[0] else b
    version = store(http, DOCUMENTS[10:])
    until(lambda: search(http, min_version=version, k=100)[0] == 200)
    assert len(search(http, k=100)[1]) == len(DOCUMENTS)
    assert leader(database, [survivor]) is survivor
    began = time.monotonic()
    killed.start()
    print(f"a replica without a copy starts in {time.monotonic() - began:.1f} s")
    assert len(search(b if http is a else a, k=100)[1]) == len(DOCUMENTS)


def test_without_milvus_documents_are_served_and_searches_refused(
    clients: list[httpx2.Client], milvus_server: MilvusServer
) -> None:
    http = clients[0]
    assert http.put("/collections/c").status_code == 201
    store(http, DOCUMENTS)
    milvus_server.kill()
    until(lambda: search(http) == (503, "index_unavailable"))
    ready = http.get("/ready").json()
    assert (ready["status"], ready["checks"]["index_reachable"]) == ("degraded", False)
    began = time.monotonic()
    version = store(http, [{"id": "new", "text": f"{WORDS[3]} {WORDS[3]}"}])
    assert http.get("/collections/c/documents/new").status_code == 200
    assert search(http)[0] == 503
    assert time.monotonic() - began < TIMEOUT_S
    milvus_server.start()
    until(lambda: search(http, min_version=version)[0] == 200)
    assert "new" in search(http, k=2)[1]
    until(lambda: http.get("/ready").json()["status"] == "ready")


def test_all_replicas_are_ready_again_after_postgresql(clients: list[httpx2.Client], database: PostgresServer) -> None:
    """Also the one that does not fill the index, though nothing else is asked of it."""
    database.kill()
    for http in clients:
        until(lambda http=http: http.get("/ready").status_code == 503)  # type: ignore[misc]
    database.start()
    for http in clients:
        until(lambda http=http: http.get("/ready").status_code == 200)  # type: ignore[misc]


def test_a_wrong_address_of_milvus_leaves_documents_readable(database: PostgresServer, tmp_path: Path) -> None:
    pytest.importorskip("pymilvus")
    settings = {
        "models": f"words={write_model(tmp_path / 'words.npz', seed=0)}",
        "database_url": database.url,
        "database_timeout_s": "1",
        "index_url": f"milvus://127.0.0.1:{reserved_port()}",
    }
    service = Service(tmp_path, PROJECT, SEMBLANCE, None, **settings)
    service.start()
    try:
        with client(service) as http:
            assert http.put("/collections/c").status_code == 201
            store(http, DOCUMENTS[:1])
            assert search(http) == (503, "index_unavailable")
            assert "the index fails" in service.log.read_text()
    finally:
        service.stop()


@pytest.mark.parametrize(
    ("address", "database_url", "reason"),
    [
        ("milvus://h:19530", "", "SEMBLANCE_INDEX_URL needs SEMBLANCE_DATABASE_URL"),
        ("http://h:19530", "postgresql://u:p@h/d", "SEMBLANCE_INDEX_URL: Value error, it must look like milvus://"),
        ("milvus://h", "postgresql://u:p@h/d", "SEMBLANCE_INDEX_URL: Value error, it must look like milvus://"),
    ],
)
def test_a_bad_address_is_refused_at_start(tmp_path: Path, address: str, database_url: str, reason: str) -> None:
    settings = {"HOME": str(tmp_path), "INDEX_URL": address, "DATABASE_URL": database_url}
    environment = os.environ | {f"SEMBLANCE_{name}": value for name, value in settings.items()}
    command = [sys.executable, "-m", SEMBLANCE, "serve"]
    ended = subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    assert reason in ended.stderr
    assert "u:p" not in ended.stderr
