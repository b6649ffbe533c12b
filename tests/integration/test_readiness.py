"""Readiness and answers of a replica while its database hangs or it lags behind."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from semblance.service.documents.databases.postgresql import postgresql_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.ports.documents import Document, Write
from tests.integration.conftest import served
from tests.support.project import PROJECT
from tests.support.running_service import SEMBLANCE, reserved_port
from tests.support.servers.postgres_server import PostgresServer
from tests.support.servers.word_models import DIM, write_model
from tests.support.vectors import one_passage, unit_vector
from tests.support.waiting import CEILING_S, until

pytestmark = pytest.mark.waits


@contextmanager
def replica(database: PostgresServer, folder: Path, **settings: str) -> Iterator[httpx2.Client]:
    """A replica with the document "d" in collection "c"; its home is `folder`/home."""
    (folder / "home").mkdir()
    settings |= {
        "models": f"words={write_model(folder / 'words.npz', seed=0)}",
        "database_url": database.url,
        "poll_s": "0.1",
    }
    with served(folder / "home", **settings) as (_, api):
        http = api.http
        until(lambda: http.put("/collections/c").is_success)
        until(lambda: http.post("/collections/c/documents", json=documents("d", "brala")).is_success)
        until(lambda: search(http) == (200, ["d"]))
        yield http


def documents(doc_id: str, text: str) -> dict[str, Any]:
    return {"documents": [{"id": doc_id, "text": text}]}


def search(http: httpx2.Client) -> tuple[int, Any]:
    answer = http.post("/search", json={"query": "brala", "collection": "c"})
    body = answer.json()
    return answer.status_code, [hit["id"] for hit in body["results"][0]["hits"]] if answer.is_success else body["code"]


def status(http: httpx2.Client) -> tuple[int, str]:
    answer = http.get("/ready")
    return answer.status_code, answer.json()["status"]


def test_a_hanging_database_degrades_a_replica_that_still_reads(database: PostgresServer, tmp_path: Path) -> None:
    with replica(database, tmp_path, database_timeout_s="1", ready_lag_s="600") as http:
        until(lambda: status(http) == (200, "ready"))
        database.pause()
        refused = http.post("/collections/c/documents", json=documents("e", "keld"))
        assert (refused.status_code, refused.json()["code"]) == (503, "store_unavailable")
        assert refused.headers["retry-after"] == "1"
        assert str(database.port) not in refused.text, "the address of the database is not disclosed"
        until(lambda: status(http) == (200, "degraded"))
        assert http.get("/ready").json()["checks"]["store_reachable"] is False
        assert search(http) == (200, ["d"])
        assert http.get("/collections/c/documents/d").json()["text"] == "brala"
        assert "semblance_store_reachable 0.0" in http.get("/metrics").text
        database.resume()
        until(lambda: status(http) == (200, "ready"))
        until(lambda: http.post("/collections/c/documents", json=documents("f", "keld")).is_success)


def test_a_lagging_replica_is_not_ready_until_it_caught_up(database: PostgresServer, tmp_path: Path) -> None:
    with (
        replica(database, tmp_path, database_timeout_s="60", ready_lag_s="0.5") as http,
        closing(sqlite3.connect(tmp_path / "home" / "copy.sqlite", timeout=600)) as copy,
    ):
        copy.execute("BEGIN IMMEDIATE")  # no other process may write to it
        primary = SqlDocumentStore(postgresql_engine(database.url, 1, 60))
        primary.upsert(primary.collection("c"), [Write(Document("e", "keld", {}), one_passage(unit_vector(1, DIM)))])
        primary.delete("c", "d")
        primary.close()
        until(lambda: 'semblance_index_version_lag{collection="c"} 2.0' in http.get("/metrics").text)
        until(lambda: status(http) == (503, "not_ready"))
        checks = http.get("/ready").json()["checks"]
        assert (checks["keeps_up"], checks["store_reachable"], checks["model_answers"]) == (False, True, True)
        assert search(http) == (503, "not_ready")
        for method, path in (("GET", "/collections"), ("PUT", "/collections/x"), ("GET", "/nothing"), ("GET", "/docs")):
            assert http.request(method, path).json()["code"] == "not_ready", path
        assert http.get("/live").status_code == 200, "a lagging replica must not be killed"
        copy.rollback()
        until(lambda: status(http) == (200, "ready"))
        until(lambda: search(http) == (200, ["e"]))


def test_a_damaged_copy_is_made_again(database: PostgresServer, tmp_path: Path) -> None:
    settings = {"models": f"words={write_model(tmp_path / 'words.npz', seed=0)}", "database_url": database.url}
    (tmp_path / "home").mkdir()
    with served(tmp_path / "home", **settings) as (_, api):
        api.collection("c")
        api.store("c", *({"id": f"d{i}", "text": "brala keld"} for i in range(500)))
    copy = tmp_path / "home" / "copy.sqlite"
    content = bytearray(copy.read_bytes())
    content[len(content) // 4 :: 7] = bytes(len(content[len(content) // 4 :: 7]))  # its first tables remain readable
    copy.write_bytes(content)
    with served(tmp_path / "home", **settings) as (service, api):
        assert api.get("/collections/c")["count"] == 500
        assert search(api.http)[0] == 200
        assert "is damaged" in service.log.read_text()


@contextmanager
def starting(folder: Path, database_url: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Port and process of a replica that does not get ready; its log is `folder`/log."""
    port = reserved_port()
    environment = os.environ | {
        "SEMBLANCE_HOME": str(folder),
        "SEMBLANCE_PORT": str(port),
        "SEMBLANCE_MODELS": f"words={write_model(folder / 'words.npz', seed=0)}",
        "SEMBLANCE_DATABASE_URL": database_url,
    }
    with (folder / "log").open("wb") as log:
        command = [sys.executable, "-m", SEMBLANCE, "serve"]
        before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, which a process would inherit
        process = subprocess.Popen(command, cwd=PROJECT, env=environment, stdout=log, stderr=log)
        signal.signal(signal.SIGHUP, before)
    try:
        yield port, process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP])
def test_a_start_without_database_refuses_connections_and_stops(end: signal.Signals, tmp_path: Path) -> None:
    address = f"postgresql://someone:secret@127.0.0.1:{reserved_port()}/nothing"
    with starting(tmp_path, address) as (port, process):
        until(lambda: "waiting for the database" in (tmp_path / "log").read_text())
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=CEILING_S)
        process.send_signal(end)
        assert process.wait(CEILING_S) == 0
    log = (tmp_path / "log").read_text()
    assert "secret" not in log
    assert "leaked" not in log


def test_a_start_on_a_missing_database_ends_with_the_reason(postgres: str, tmp_path: Path) -> None:
    with starting(tmp_path, f"{postgres}-2") as (_, process):
        assert process.wait(CEILING_S) == 1
    last = (tmp_path / "log").read_text().splitlines()[-1]
    assert last.startswith("cannot serve: ")
    assert 'database "semblance-2" does not exist: correct SEMBLANCE_DATABASE_URL' in last


def test_an_older_release_does_not_touch_newer_tables(database: PostgresServer, tmp_path: Path) -> None:
    engine = postgresql_engine(database.url, 1, 10)
    SqlDocumentStore(engine).collections()
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    engine.dispose()
    with starting(tmp_path, database.url) as (_, process):
        assert process.wait(CEILING_S) != 0
    assert "cannot serve: the store was changed by a later release" in (tmp_path / "log").read_text()
