"""Backups and snapshots of a running service during writes."""

from __future__ import annotations

import threading
from pathlib import Path

import httpx2

from tests.integration.conftest import Api, served
from tests.support.command_line import semblance
from tests.support.servers.word_models import WORDS, write_model
from tests.support.waiting import until


class Writer(threading.Thread):
    """Stores documents one by one, and records the acknowledged ones."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url = url
        self.acknowledged: list[str] = []
        self.stop = threading.Event()

    def run(self) -> None:
        with httpx2.Client(base_url=self._url, timeout=120) as http:
            while not self.stop.is_set():
                number = len(self.acknowledged)
                document = {"id": f"d{number}", "text": f"{WORDS[number % 48]} {number}"}
                http.post("/collections/c/documents", json={"documents": [document]}).raise_for_status()
                self.acknowledged.append(document["id"])


def stored(api: Api) -> set[str]:
    found: set[str] = set()
    cursor: str | None = ""
    while cursor is not None:
        page = api.get("/collections/c/documents", cursor=cursor, limit=100)
        found |= {document["id"] for document in page["documents"]}
        cursor = page["cursor"]
    return found


def test_copies_of_a_busy_service_have_all_acknowledged_documents(tmp_path: Path) -> None:
    home, seed, backup, restored = (str(tmp_path / name) for name in ("home", "seed", "backup", "restored"))
    Path(home).mkdir()
    models = f"words={write_model(tmp_path / 'words.npz', 0)}"
    with served(Path(home), models=models, snapshot_s="0.3") as (service, api):
        api.collection("c")
        writer = Writer(service.url)
        writer.start()
        until(lambda: len(writer.acknowledged) >= 40 or not writer.is_alive(), "documents")
        until(lambda: list(Path(home).glob("indexes/*/manifest.json")), "a snapshot of the index")
        before_seed = set(writer.acknowledged)
        made = semblance("snapshot", seed, "--home", home)
        after_seed = set(writer.acknowledged)
        saved = semblance("backup", backup, "--home", home)
        writer.stop.set()
        writer.join()
        assert (made.returncode, saved.returncode) == (0, 0), made.stderr + saved.stderr
        refused = semblance("restore", backup, "--home", home, "--yes")
        assert "another process serves the documents" in refused.stderr
        assert stored(api) == set(writer.acknowledged)
    with served(Path(seed), models=models) as (service, api):
        found = stored(api)
        assert before_seed <= found <= set(writer.acknowledged)
        assert len(found) <= len(after_seed) + 1
        hits = {hit["id"] for hit in api.hits(WORDS[0], collection="c", k=1000)}
        assert hits <= found
        assert len(hits) == min(1000, len(found)) == min(1000, api.get("/collections/c")["count"])
        log = service.log.read_text()
        assert "not used" not in log, "its index starts from the snapshot"
        assert "has no snapshot" not in log
    assert semblance("restore", backup, "--home", restored).returncode == 0
    verified = semblance("index", "verify", "--home", restored)
    assert verified.returncode == 0, verified.stdout
    assert int(verified.stdout.split("│")[2].replace(",", "")) >= len(after_seed)
