"""Does a service that is killed at any moment keep every write that it acknowledged?

    python -m tests.soak.crashes --kills 30

Writers upsert (as JSON and as NDJSON) and delete documents, each its own, and a reader searches, while the process is
killed at random moments, some of them in its start. After every restart: each acknowledged write is there, nothing
deleted is back, no id is there twice, and the index finds just what is stored, with the scores of texts encoded anew.
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

from semblance.service.composition.embedded_store import embedded_store
from semblance.service.settings import read_settings
from semblance.service.usecases.verify import verify
from tests.support.figures import keep
from tests.support.running_service import Service
from tests.support.wide_console import wide_console

COLLECTION = "crashes"
WRITERS = 4
IDS_PER_WRITER = 40
LONGEST_LIFE_S = 3.0
DIES_STARTING = 0.2  # share of the kills that come before the service answers
SUBJECTS = ("The parcel", "A refund", "My account", "The invoice", "An order", "The courier", "Your password")
VERBS = ("arrived", "was lost", "cannot be found", "was paid", "is late", "was cancelled", "broke", "changed")
State: TypeAlias = str | None  # the text of a document; None where there is none


class Broken(Exception):
    """The service did not keep its word."""


@dataclass(slots=True)
class Outcome:
    """What the kills came to."""

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
    """What the service has said of each document, and what it was asked and did not answer."""

    acknowledged: dict[str, State] = field(default_factory=dict)
    open: dict[str, State] = field(default_factory=dict)

    def may_hold(self, doc_id: str) -> set[State]:
        """The states that a document may be found in."""
        states = {self.acknowledged.get(doc_id)}
        return states | {self.open[doc_id]} if doc_id in self.open else states

    def settle(self, found: dict[str, str]) -> int:
        """Take what was found for the truth from now on; how many cut-off writes had been stored."""
        stored = sum(found.get(doc_id) == state != self.acknowledged.get(doc_id) for doc_id, state in self.open.items())
        self.acknowledged = dict.fromkeys(self.acknowledged, None) | dict(found)
        self.open.clear()
        return stored


class Writer(threading.Thread):
    """Writes to its own documents until the service is gone."""

    def __init__(self, number: int, url: str, ledger: Ledger, seed: int) -> None:
        super().__init__(daemon=True)
        self._ids = [f"w{number}-{i}" for i in range(IDS_PER_WRITER)]
        self._ledger = ledger
        self._random = random.Random(seed)
        self._url = f"{url}/collections/{COLLECTION}/documents"
        self.acknowledged = self.cut_off = 0
        self.wrong: str | None = None

    def run(self) -> None:
        """Write, one request after the other."""
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
                except Broken as error:
                    self.wrong = str(error)
                    return
                self._ledger.acknowledged.update(change)
                for doc_id in change:
                    del self._ledger.open[doc_id]
                self.acknowledged += 1

    def _send(self, http: httpx2.Client, change: dict[str, State]) -> None:
        """Raise unless the service acknowledged the change."""
        documents = [{"id": doc_id, "text": text} for doc_id, text in change.items() if text is not None]
        if not documents:
            answer = http.delete(f"{self._url}/{next(iter(change))}")
            expected = {200, 404}  # it may never have been there
        elif self._random.random() < 0.3:
            body = "".join(json.dumps(document) + "\n" for document in documents)
            answer = http.post(self._url, content=body, headers={"content-type": "application/x-ndjson"})
            expected = {200}
            if '"done":false' in answer.text:
                raise Broken(f"a stream ended with {answer.text.splitlines()[-1]}")
            if '"done":true' not in answer.text:
                raise httpx2.RemoteProtocolError("the answer broke off")
        else:
            answer, expected = http.post(self._url, json={"documents": documents}), {200}
        if answer.status_code not in expected:
            raise Broken(f"{answer.request.method} answered {answer.status_code}: {answer.text[:300]}")

    def _sentence(self) -> str:
        return f"{self._random.choice(SUBJECTS)} {self._random.choice(VERBS)} {self._random.randrange(10**6)} times."


class Reader(threading.Thread):
    """Searches until the service is gone."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url = url
        self.searches = 0
        self.wrong: str | None = None

    def run(self) -> None:
        """Search, one request after the other."""
        body = {"query": "where is my parcel?", "collection": COLLECTION, "k": 20}
        with httpx2.Client(base_url=self._url, timeout=60) as http:
            while self.wrong is None:
                try:
                    answer = http.post("/search", json=body)
                except httpx2.HTTPError:
                    return
                ids = [hit["id"] for hit in answer.json()["results"][0]["hits"]] if answer.is_success else []
                if not answer.is_success or len(set(ids)) < len(ids):
                    self.wrong = f"/search answered {answer.status_code}: {answer.text[:300]}"
                self.searches += 1


def run(kills: int, seed: int, console: Console) -> Outcome:
    """Kill a service again and again.

    Raises:
        Broken: something that it acknowledged is not so.
    """
    outcome, ledger, chance = Outcome(), Ledger(), random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder), snapshot_s="0.5")
        url = service.start()
        try:
            httpx2.put(f"{url}/collections/{COLLECTION}", json={"tokens": "int8"}).raise_for_status()
            for _ in track(range(kills), "killing", console=console):
                _live_and_die(service, ledger, outcome, chance)
                if chance.random() < DIES_STARTING:
                    _die_starting(service, chance)
                    outcome.killed_while_starting += 1
                service.start()
                _check(url, ledger, outcome, chance)
        finally:
            service.stop()
        _verify(Path(folder))
    return outcome


def _live_and_die(service: Service, ledger: Ledger, outcome: Outcome, chance: random.Random) -> None:
    """Let everybody work for a moment, then kill."""
    writers = [Writer(i, service.url, ledger, chance.getrandbits(32)) for i in range(WRITERS)]
    reader = Reader(service.url)
    threads: list[Writer | Reader] = [*writers, reader]
    for thread in threads:
        thread.start()
    time.sleep(chance.uniform(0.05, LONGEST_LIFE_S))
    service.kill()
    outcome.kills += 1
    for thread in threads:
        thread.join()
    if wrong := [thread.wrong for thread in threads if thread.wrong]:
        raise Broken("; ".join(wrong))
    outcome.writes_acknowledged += sum(writer.acknowledged for writer in writers)
    outcome.writes_cut_off += sum(writer.cut_off for writer in writers)
    outcome.searches += reader.searches


def _die_starting(service: Service, chance: random.Random) -> None:
    late = threading.Timer(chance.uniform(0.1, 6.0), lambda: service.process.kill())  # noqa: PLW0108 - the one that is started next
    late.start()
    try:
        service.start()
    except RuntimeError:  # it died before it answered, as it should
        pass
    finally:
        late.cancel()
        service.kill()


def _check(url: str, ledger: Ledger, outcome: Outcome, chance: random.Random) -> None:
    """Compare what is stored with the ledger, and what is found with what is stored."""
    with httpx2.Client(base_url=url, timeout=60) as http:
        listed = list(_documents(http))
        stored = dict(listed)
        if len(stored) < len(listed):
            raise Broken("an id is listed twice")
        for doc_id in {*ledger.acknowledged, *ledger.open, *stored}:
            if stored.get(doc_id) not in ledger.may_hold(doc_id):
                raise Broken(f"{doc_id} holds {stored.get(doc_id)!r}; it may hold {ledger.may_hold(doc_id)}")
        outcome.cut_off_but_stored += ledger.settle(stored)
        outcome.documents_at_the_end = len(stored)
        for query in chance.sample(sorted(stored.values()), min(3, len(stored))):
            difference = _difference(http, query, stored)
            outcome.largest_score_difference = max(outcome.largest_score_difference, difference)


def _documents(http: httpx2.Client) -> Iterator[tuple[str, str]]:
    cursor: str | None = ""
    while cursor is not None:
        page = http.get(f"/collections/{COLLECTION}/documents", params={"cursor": cursor, "limit": 50}).json()
        yield from ((document["id"], document["text"]) for document in page["documents"])
        cursor = page["cursor"]


def _difference(http: httpx2.Client, query: str, stored: dict[str, str]) -> float:
    """How far the scores of a search over everything are from those of the same texts encoded now."""
    found = http.post("/search", json={"query": query, "collection": COLLECTION, "k": len(stored)}).json()
    scores = {hit["id"]: hit["score"] for hit in found["results"][0]["hits"]}
    if scores.keys() != stored.keys():
        raise Broken(f"a search finds {len(scores)} documents of {len(stored)}")
    fresh = http.post("/similarity", json={"left": [query], "right": list(stored.values())}).json()["scores"][0]
    return max(float(abs(scores[doc_id] - score)) for doc_id, score in zip(stored, fresh, strict=True))


def _verify(home: Path) -> None:
    with embedded_store(read_settings(home=home)) as (store, indexes):
        faults = [*store.damage(), *(fault for each in verify(store, indexes) for fault in each.faults)]
    if faults:
        raise Broken("; ".join(faults[:5]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30, help="how often the service is killed")
    parser.add_argument("--seed", type=int, default=1, help="what the random moments come from")
    given = parser.parse_args(arguments)
    console = wide_console()
    outcome = asdict(run(given.kills, given.seed, console))
    table = Table("figure", "value")
    for name, value in outcome.items():
        table.add_row(name.replace("_", " "), f"{value:.1e}" if isinstance(value, float) else f"{value:,}")
    console.print(table)
    keep("crashes", outcome)


if __name__ == "__main__":
    main()
