"""Replicas on PostgreSQL and Milvus: what they answer and refuse, also when one of them or PostgreSQL dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from semblance.service.settings import read_settings
from tests.conftest import missing
from tests.integration.conftest import code_of
from tests.support.project import PROJECT
from tests.support.running_service import Service, running_process
from tests.support.servers.milvus_server import MilvusServer
from tests.support.servers.postgres_server import PostgresServer
from tests.support.servers.word_models import WORDS, write_model
from tests.support.waiting import until

pytestmark = pytest.mark.waits

DOCUMENTS = [{"id": f"d{i}", "text": word, "metadata": {"number": i}} for i, word in enumerate(WORDS)]
PATIENT = {"database_timeout_s": "60", "min_version_wait_s": "60", "poll_s": "0.2", "cache": "none"}


@pytest.fixture(scope="module")
def milvus_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    """A Milvus Lite of this module's own."""
    if find_spec("milvus_lite") is None:
        missing("the package milvus-lite")
    server = MilvusServer(tmp_path_factory.mktemp("milvus"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="module")
def replicas(
    postgres_server: PostgresServer, milvus_server: MilvusServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Service]]:
    """Two replicas without a copy, for tests that leave both running, and no collection."""
    postgres_server.create_database()
    homes = [tmp_path_factory.mktemp(name) for name in ("a", "b")]
    urls = {"database_url": postgres_server.url, "index_url": milvus_server.url}
    settings = {**PATIENT, **urls, "models": f"words={write_model(homes[0] / 'words.npz', seed=0)}"}
    with running_process(PROJECT, homes[0], **settings) as a, running_process(PROJECT, homes[1], **settings) as b:
        yield [a, b]


@pytest.fixture
def clients(replicas: list[Service]) -> Iterator[list[httpx2.Client]]:
    """A client of each; collection "c" is deleted after the test."""
    a, b = (httpx2.Client(base_url=each.url, timeout=120) for each in replicas)
    with a, b:
        yield [a, b]
        a.delete("/collections/c")


def search(http: httpx2.Client, **options: Any) -> tuple[int, Any]:
    answer = http.post("/search", json={"query": WORDS[3], "collection": "c", "k": 5, **options})
    body = answer.json()
    return answer.status_code, [hit["id"] for hit in body["results"][0]["hits"]] if answer.is_success else body["code"]


def store(http: httpx2.Client, documents: list[dict[str, Any]]) -> str:
    answer = http.post("/collections/c/documents", json={"documents": documents})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["version"])


def leaders(database: PostgresServer, services: list[Service]) -> list[Service]:
    """Replicas whose session has the lock, by the process that holds the connection: one, after a while."""
    with psycopg.connect(database.url) as connection:
        query = (
            "SELECT client_port FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted"
        )
        ports = {port for (port,) in connection.execute(query)}
    return [each for each in services if ports & local_ports(each)]


def local_ports(service: Service) -> set[int]:
    """Local ports of the connections of a process."""
    inodes = set()
    for link in Path(f"/proc/{service.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since it was listed
            target = str(link.readlink())
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    lines = [line.split() for line in Path(f"/proc/{service.pid}/net/tcp").read_text().splitlines()[1:]]
    return {int(fields[1].rpartition(":")[2], 16) for fields in lines if fields[9] in inodes}


def test_replicas_search_what_another_one_stored(replicas: list[Service], clients: list[httpx2.Client]) -> None:
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
    for path, body in (
        ("/search", {"query": WORDS[0], "collection": "c", "mode": "hybrid"}),
        ("/collections/c/count", {"filter": {"number": 3}}),
    ):  # tests/contracts/test_remote_index.py has all that needs a local index
        assert code_of(b.post(path, json=body)) == (422, "not_with_remote_index")
    similar = {"if_similar": {"min_score": 0.99}, "documents": [{"id": "again", "text": WORDS[3]}]}
    answer = a.post("/collections/c/documents", json=similar)
    assert answer.status_code == 200, answer.text
    assert [(each["id"], each["like"]) for each in answer.json()["similar"]] == [("again", "d3")]
    assert a.delete("/collections/c/documents/d3").status_code == 200
    assert search(a, k=1) == (200, ["again"])
    until(lambda: 'semblance_index_version_lag{collection="c"} 0.0' in b.get("/metrics").text)
    for replica in replicas:
        home = replica.log.parent
        assert not list(home.glob("copy*")), "no copy is kept"
        assert not (home / "indexes").exists()
    assert a.delete("/collections/c").status_code == 204
    assert search(b) == (404, "unknown_collection")


def test_another_replica_fills_the_index_when_the_leader_is_killed(
    replicas: list[Service], clients: list[httpx2.Client], postgres_server: PostgresServer
) -> None:
    assert clients[0].put("/collections/c").status_code == 201
    store(clients[0], DOCUMENTS[:10])
    [killed] = until(lambda: leaders(postgres_server, replicas), "a leader")
    [survivor] = [each for each in replicas if each is not killed]
    killed.kill()
    http = clients[replicas.index(survivor)]
    version = store(http, DOCUMENTS[10:])
    until(lambda: search(http, min_version=version, k=100)[0] == 200)
    assert len(search(http, k=100)[1]) == len(DOCUMENTS)
    assert leaders(postgres_server, [survivor]) == [survivor]
    killed.start()
    assert len(search(clients[replicas.index(killed)], k=100)[1]) == len(DOCUMENTS)


def test_all_replicas_are_ready_again_after_postgresql(
    clients: list[httpx2.Client], postgres_server: PostgresServer
) -> None:
    """Also the one that does not fill the index, though nothing else is asked of it."""

    def all_are(status: int) -> bool:
        return {http.get("/ready").status_code for http in clients} == {status}

    postgres_server.kill()
    until(lambda: all_are(503))
    postgres_server.start()
    until(lambda: all_are(200))


@pytest.mark.parametrize(
    ("address", "database_url", "reason"),
    [
        ("milvus://h:19530", "", "SEMBLANCE_INDEX_URL needs SEMBLANCE_DATABASE_URL"),
        ("http://h:19530", "postgresql://u:p@h/d", "SEMBLANCE_INDEX_URL: Value error, it must look like milvus://"),
        ("milvus://h", "postgresql://u:p@h/d", "SEMBLANCE_INDEX_URL: Value error, it must look like milvus://"),
    ],
)
def test_a_bad_address_is_refused(address: str, database_url: str, reason: str) -> None:
    with pytest.raises(SystemExit, match=reason) as refused:
        read_settings(index_url=address, database_url=database_url)
    assert "u:p" not in str(refused.value)
