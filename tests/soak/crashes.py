"""Does a service that is killed at random moments keep every acknowledged write?

    python -m tests.soak.crashes --kills 30

Writers upsert (as JSON and as NDJSON) and delete their own documents, and a reader searches, while the process is
killed at random moments, sometimes during its start. After each restart: every acknowledged write is there, no deleted
document is back, no id occurs twice, and a search finds exactly the stored documents, with the scores of fresh vectors.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeAlias

import httpx2
from rich.console import Console
from rich.progress import track
from rich.table import Table

from semblance.service.composition.stores import open_embedded_store
from semblance.service.settings import read_settings
from semblance.service.usecases.verify import verify
from tests.support.results import save_results
from tests.support.running_service import Service
from tests.support.wide_console import wide_console

COLLECTION = "crashes"
WRITERS = 4
IDS_PER_WRITER = 40
MAX_UPTIME_S = 3.0
KILLED_WHILE_STARTING = 0.2  # share of the kills during a start
SUBJECTS = ("The parcel", "A refund", "My account", "The invoice", "An order", "The courier", "Your password")
VERBS = ("arrived", "was lost", "cannot be found", "was paid", "is late", "was cancelled", "broke", "changed")
State: TypeAlias = str | None  # text of a document; None if it does not exist


class Violation(Exception):
    """The service broke a guarantee."""


@dataclass(slots=True)
class CrashReport:
    """Counts of one run."""

    kills: int = 0
    killed_while_starting: int = 0
    writes_acknowledged: int = 0
    writes_cut_off: int = 0
    cut_off_but_stored: int = 0
    searches: int = 0
    documents_at_the_end: int = 0
    largest_score_difference: float = 0.0


@dataclass(slots=True)
class Ledger:
    """Acknowledged state of each document, and writes without an answer."""

    acknowledged: dict[str, State] = field(default_factory=dict)
    open: dict[str, State] = field(default_factory=dict)

    def may_hold(self, doc_id: str) -> set[State]:
        """States in which a document may be found."""
        states = {self.acknowledged.get(doc_id)}
        return states | {self.open[doc_id]} if doc_id in self.open else states

    def settle(self, stored: dict[str, str]) -> int:
        """Adopt the stored documents, and count the unanswered writes that were stored."""
        count = sum(stored.get(doc_id) == state != self.acknowledged.get(doc_id) for doc_id, state in self.open.items())
        self.acknowledged = dict.fromkeys(self.acknowledged, None) | dict(stored)
        self.open.clear()
        return count


class Writer(threading.Thread):
    """Write to its own documents until the service is down."""

    def __init__(self, number: int, url: str, ledger: Ledger, seed: int) -> None:
        super().__init__(daemon=True)
        self._ids = [f"w{number}-{i}" for i in range(IDS_PER_WRITER)]
        self._ledger = ledger
        self._random = random.Random(seed)
        self._url = f"{url}/collections/{COLLECTION}/documents"
        self.acknowledged = self.cut_off = 0
        self.violation: str | None = None

    def run(self) -> None:
        """Send writes one after the other."""
        with httpx2.Client(timeout=60) as http:
            while True:
                ids = self._random.sample(self._ids, self._random.choice((1, 1, 3, 8)))
                change: dict[str, State] = {doc_id: self._sentence() for doc_id in ids}
                if self._random.random() < 0.3:
                    change = {ids[0]: None}
                self._ledger.open.update(change)
                try:
                    self._send(http, change)
                except httpx2.HTTPError:
                    self.cut_off += 1
                    return
                except Violation as error:
                    self.violation = str(error)
                    return
                self._ledger.acknowledged.update(change)
                for doc_id in change:
                    del self._ledger.open[doc_id]
                self.acknowledged += 1

    def _send(self, http: httpx2.Client, change: dict[str, State]) -> None:
        """Send a change. Raises Violation or HTTPError unless the service acknowledged it."""
        documents = [{"id": doc_id, "text": text} for doc_id, text in change.items() if text is not None]
        if not documents:
            answer = http.delete(f"{self._url}/{next(iter(change))}")
            expected = {200, 404}  # it may not exist yet
        elif self._random.random() < 0.3:
            body = "".join(json.dumps(document) + "\n" for document in documents)
            answer = http.post(self._url, content=body, headers={"content-type": "application/x-ndjson"})
            expected = {200}
            if '"done":false' in answer.text:
                raise Violation(f"a stream ended with {answer.text.splitlines()[-1]}")
            if '"done":true' not in answer.text:
                raise httpx2.RemoteProtocolError("the response is incomplete")
        else:
            answer, expected = http.post(self._url, json={"documents": documents}), {200}
        if answer.status_code not in expected:
            raise Violation(f"{answer.request.method} answered {answer.status_code}: {answer.text[:300]}")

    def _sentence(self) -> str:
        return f"{self._random.choice(SUBJECTS)} {self._random.choice(VERBS)} {self._random.randrange(10**6)} times."


class Reader(threading.Thread):
    """Search until the service is down."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url = url
        self.searches = 0
        self.violation: str | None = None

    def run(self) -> None:
        """Send searches one after the other."""
        body = {"query": "where is my parcel?", "collection": COLLECTION, "k": 20}
        with httpx2.Client(base_url=self._url, timeout=60) as http:
            while self.violation is None:
                try:
                    answer = http.post("/search", json=body)
                except httpx2.HTTPError:
                    return
                ids = [hit["id"] for hit in answer.json()["results"][0]["hits"]] if answer.is_success else []
                if not answer.is_success or len(set(ids)) < len(ids):
                    self.violation = f"/search answered {answer.status_code}: {answer.text[:300]}"
                self.searches += 1


def run(kills: int, seed: int, console: Console) -> CrashReport:
    """Kill and restart a service repeatedly.

    Raises:
        Violation: an acknowledged write was lost, or an answer is wrong.
    """
    report, ledger, rng = CrashReport(), Ledger(), random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder), snapshot_s="0.5")
        url = service.start()
        try:
            httpx2.put(f"{url}/collections/{COLLECTION}", json={"tokens": "int8"}).raise_for_status()
            for _ in track(range(kills), "killing", console=console):
                _work_and_kill(service, ledger, report, rng)
                if rng.random() < KILLED_WHILE_STARTING:
                    _kill_while_starting(service, rng)
                    report.killed_while_starting += 1
                service.start()
                _check(url, ledger, report, rng)
        finally:
            service.stop()
        _verify(Path(folder))
    return report


def _work_and_kill(service: Service, ledger: Ledger, report: CrashReport, rng: random.Random) -> None:
    """Run writers and a reader for a random time, then kill the service."""
    writers = [Writer(i, service.url, ledger, rng.getrandbits(32)) for i in range(WRITERS)]
    reader = Reader(service.url)
    threads: list[Writer | Reader] = [*writers, reader]
    for thread in threads:
        thread.start()
    time.sleep(rng.uniform(0.05, MAX_UPTIME_S))
    service.kill()
    report.kills += 1
    for thread in threads:
        thread.join()
    if violations := [thread.violation for thread in threads if thread.violation]:
        raise Violation("; ".join(violations))
    report.writes_acknowledged += sum(writer.acknowledged for writer in writers)
    report.writes_cut_off += sum(writer.cut_off for writer in writers)
    report.searches += reader.searches


def _kill_while_starting(service: Service, rng: random.Random) -> None:
    timer = threading.Timer(rng.uniform(0.1, 6.0), lambda: service.process.kill())  # noqa: PLW0108 - the process started below
    timer.start()
    try:
        service.start()
    except RuntimeError:  # it was killed before it was ready, as intended
        pass
    finally:
        timer.cancel()
        service.kill()


def _check(url: str, ledger: Ledger, report: CrashReport, rng: random.Random) -> None:
    """Compare stored documents with the ledger, and search results with stored documents."""
    with httpx2.Client(base_url=url, timeout=60) as http:
        listed = list(_documents(http))
        stored = dict(listed)
        if len(stored) < len(listed):
            raise Violation("an id is listed twice")
        for doc_id in {*ledger.acknowledged, *ledger.open, *stored}:
            if stored.get(doc_id) not in ledger.may_hold(doc_id):
                raise Violation(f"{doc_id} holds {stored.get(doc_id)!r}; it may hold {ledger.may_hold(doc_id)}")
        report.cut_off_but_stored += ledger.settle(stored)
        report.documents_at_the_end = len(stored)
        for query in rng.sample(sorted(stored.values()), min(3, len(stored))):
            difference = _score_difference(http, query, stored)
            report.largest_score_difference = max(report.largest_score_difference, difference)


def _documents(http: httpx2.Client) -> Iterator[tuple[str, str]]:
    cursor: str | None = ""
    while cursor is not None:
        page = http.get(f"/collections/{COLLECTION}/documents", params={"cursor": cursor, "limit": 50}).json()
        yield from ((document["id"], document["text"]) for document in page["documents"])
        cursor = page["cursor"]


def _score_difference(http: httpx2.Client, query: str, stored: dict[str, str]) -> float:
    """Largest difference between scores of a search and those of freshly encoded texts."""
    answer = http.post("/search", json={"query": query, "collection": COLLECTION, "k": len(stored)}).json()
    scores = {hit["id"]: hit["score"] for hit in answer["results"][0]["hits"]}
    if scores.keys() != stored.keys():
        raise Violation(f"a search finds {len(scores)} of {len(stored)} documents")
    fresh = http.post("/similarity", json={"left": [query], "right": list(stored.values())}).json()["scores"][0]
    return max(float(abs(scores[doc_id] - score)) for doc_id, score in zip(stored, fresh, strict=True))


def _verify(home: Path) -> None:
    with open_embedded_store(read_settings(home=home)) as (store, indexes):
        faults = [*store.integrity_errors(), *(fault for each in verify(store, indexes) for fault in each.faults)]
    if faults:
        raise Violation("; ".join(faults[:5]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30, help="number of kills")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random moments")
    options = parser.parse_args(arguments)
    console = wide_console()
    figures = asdict(run(options.kills, options.seed, console))
    table = Table("figure", "value")
    for name, value in figures.items():
        table.add_row(name.replace("_", " "), f"{value:.1e}" if isinstance(value, float) else f"{value:,}")
    console.print(table)
    save_results("crashes", figures)


if __name__ == "__main__":
    main()
