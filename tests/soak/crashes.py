"""Does a service that is killed at random moments keep every acknowledged write?

    python -m tests.soak.crashes --kills 30

Writers upsert (as JSON and as NDJSON), mark and delete their own documents, many of which have several passages, and a
reader searches in every mode, with highlights, and lists duplicates, while the process is killed at random moments,
sometimes during its start. After each restart: every acknowledged write is there, no deleted document is back, no id
occurs twice, and a search finds exactly the stored documents, with all of their passages and the scores of fresh
vectors.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import httpx2
from rich.console import Console
from rich.progress import track

from semblance.service.composition.stores import open_embedded_store
from semblance.service.settings import read_settings
from semblance.service.usecases.verify import verify
from tests.soak.figures import conclude
from tests.support.running_service import Service
from tests.support.waiting import CEILING_S, until
from tests.support.wide_console import wide_console

COLLECTION = "crashes"
WRITERS = 4
IDS_PER_WRITER = 40
MOST_WRITES, SEARCHES_EACH = 60, 3  # acknowledged, and answered, before each kill
JITTER_S = 0.05  # until the kill: it may meet any step of a request
KILLED_WHILE_STARTING = 0.2  # share of the kills during a start
SUBJECTS = ("The parcel", "A refund", "My account", "The invoice", "An order", "The courier", "Your password")
VERBS = ("arrived", "was lost", "cannot be found", "was paid", "is late", "was cancelled", "broke", "changed")
CUT = {"tokens": 16, "overlap": 0}  # most passages then have one sentence
MOST_PASSAGES = 10  # of a document; they have fewer
SEARCH = {"query": "where is my parcel?", "collection": COLLECTION, "k": 20}
SEARCHES: Sequence[dict[str, Any]] = (
    {},
    {"mode": "lexical"},
    {"mode": "hybrid", "highlight": True, "facets": [{"field": "mark"}]},
    {"mode": "auto", "measure": "rcmd1", "passages": 3},
    {"filter": {"mark": {"gte": 50}}, "group_by": "mark", "diversity": 0.5},
)
SIMILAR = 0.9  # least cosine of duplicates


class Stored(NamedTuple):
    """A document: its text, and the mark in its metadata."""

    text: str
    mark: int | None = None


State: TypeAlias = Stored | None  # None if the document does not exist


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

    def settle(self, stored: Mapping[str, Stored]) -> int:
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
        self._url = f"{url}/collections/{COLLECTION}"
        self.acknowledged = self.cut_off = 0
        self.violation: str | None = None

    def run(self) -> None:
        """Send writes one after the other."""
        with httpx2.Client(timeout=CEILING_S) as http:
            while True:
                ids = self._random.sample(self._ids, self._random.choice((1, 1, 3, 8)))
                change = self._change(ids)
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

    def _change(self, ids: Sequence[str]) -> dict[str, State]:
        """New texts, a new mark of a document that exists, or the deletion of one or of all."""
        now = self._ledger.acknowledged.get(ids[0])
        match self._random.randrange(10):
            case 0 | 1:
                return {ids[0]: None}
            case 2:
                return dict.fromkeys(ids)
            case 3 | 4 if now is not None:
                return {ids[0]: now._replace(mark=self._random.randrange(100))}
            case _:
                return {doc_id: Stored(self._text()) for doc_id in ids}

    def _send(self, http: httpx2.Client, change: dict[str, State]) -> None:
        """Send a change. Raises Violation or HTTPError unless the service acknowledged it."""
        states = {doc_id: state for doc_id, state in change.items() if state is not None}
        if not states:
            answer = self._remove(http, list(change))
        elif any(state.mark is not None for state in states.values()):
            marks = [{"id": doc_id, "metadata": {"mark": state.mark}} for doc_id, state in states.items()]
            answer = http.patch(f"{self._url}/documents", json={"documents": marks})
        else:
            answer = self._upsert(http, [{"id": doc_id, "text": state.text} for doc_id, state in states.items()])
        missing = answer.status_code == 404 and answer.request.method == "DELETE"  # it may not exist yet
        if not answer.is_success and not missing:
            raise Violation(f"{answer.request.method} answered {answer.status_code}: {answer.text[:300]}")

    def _remove(self, http: httpx2.Client, ids: Sequence[str]) -> httpx2.Response:
        if len(ids) == 1:
            return http.delete(f"{self._url}/documents/{ids[0]}")
        return http.post(f"{self._url}/delete", json={"ids": ids})

    def _upsert(self, http: httpx2.Client, documents: Sequence[dict[str, str]]) -> httpx2.Response:
        """As JSON or as NDJSON. Raises Violation or HTTPError."""
        url = f"{self._url}/documents"
        if self._random.random() > 0.3:
            return http.post(url, json={"documents": documents})
        body = "".join(json.dumps(document) + "\n" for document in documents)
        answer = http.post(url, content=body, headers={"content-type": "application/x-ndjson"})
        if '"done":false' in answer.text:
            raise Violation(f"a stream ended with {answer.text.splitlines()[-1]}")
        if answer.is_success and '"done":true' not in answer.text:
            raise httpx2.RemoteProtocolError("the response is incomplete")
        return answer

    def _text(self) -> str:
        """One to four sentences."""
        return " ".join(
            f"{self._random.choice(SUBJECTS)} {self._random.choice(VERBS)} {self._random.randrange(10**6)} times."
            for _ in range(self._random.choice((1, 1, 2, 4)))
        )


class Reader(threading.Thread):
    """Search in turns by each of `SEARCHES`, and for duplicates, until the service is down."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self._url = url
        self.searches = 0
        self.violation: str | None = None

    def run(self) -> None:
        """Send searches one after the other."""
        requests = [
            *(("/search", SEARCH | options) for options in SEARCHES),
            (f"/collections/{COLLECTION}/duplicates", {"min_score": SIMILAR}),
        ]
        with httpx2.Client(base_url=self._url, timeout=CEILING_S) as http:
            for path, body in itertools.cycle(requests):
                try:
                    answer = http.post(path, json=body)
                except httpx2.HTTPError:
                    return
                if not answer.is_success or has_twice(answer.json()):
                    self.violation = f"{path} with {body} answered {answer.status_code}: {answer.text[:300]}"
                    return
                self.searches += 1


def has_twice(answer: Any) -> bool:
    """Whether a document is twice among the hits of a search, or in groups of duplicates."""
    lists = [result["hits"] for result in answer["results"]] if "results" in answer else []
    lists += [each["documents"] for each in answer.get("groups", [])]
    ids = [[each["id"] for each in documents] for documents in lists]
    return any(len(set(each)) < len(each) for each in ids)


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
            httpx2.put(
                f"{url}/collections/{COLLECTION}", json={"tokens": "int8", "passages": CUT}, timeout=600
            ).raise_for_status()
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
    """Run writers and a reader for a random number of writes, then kill the service."""
    writers = [Writer(i, service.url, ledger, rng.getrandbits(32)) for i in range(WRITERS)]
    reader = Reader(service.url)
    threads: list[Writer | Reader] = [*writers, reader]
    for thread in threads:
        thread.start()
    writes = rng.randint(1, MOST_WRITES)
    until(
        lambda: (
            any(each.violation for each in threads)
            or (sum(each.acknowledged for each in writers) >= writes and reader.searches >= SEARCHES_EACH)
        ),
        f"{writes} writes and {SEARCHES_EACH} searches",
    )
    time.sleep(rng.uniform(0, JITTER_S))  # no verdict: only the moment of the kill
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
    with httpx2.Client(base_url=url, timeout=CEILING_S) as http:
        listed = list(_documents(http))
        stored = dict(listed)
        if len(stored) < len(listed):
            raise Violation("an id is listed twice")
        for doc_id in {*ledger.acknowledged, *ledger.open, *stored}:
            if stored.get(doc_id) not in ledger.may_hold(doc_id):
                raise Violation(f"{doc_id} holds {stored.get(doc_id)!r}; it may hold {ledger.may_hold(doc_id)}")
        report.cut_off_but_stored += ledger.settle(stored)
        report.documents_at_the_end = len(stored)
        for doc_id in rng.sample(sorted(stored), min(3, len(stored))):
            difference = _score_difference(http, stored[doc_id].text, stored)
            report.largest_score_difference = max(report.largest_score_difference, difference)


def _documents(http: httpx2.Client) -> Iterator[tuple[str, Stored]]:
    cursor: str | None = ""
    while cursor is not None:
        page = http.get(f"/collections/{COLLECTION}/documents", params={"cursor": cursor, "limit": 50}).json()
        for each in page["documents"]:
            yield each["id"], Stored(each["text"], each["metadata"].get("mark"))
        cursor = page["cursor"]


def _score_difference(http: httpx2.Client, query: str, stored: Mapping[str, Stored]) -> float:
    """Largest difference between scores of the passages that a search finds and those of freshly encoded texts."""
    body = {"query": query, "collection": COLLECTION, "k": len(stored), "passages": MOST_PASSAGES, "truncate": "END"}
    hits = http.post("/search", json=body).raise_for_status().json()["results"][0]["hits"]
    found = {hit["id"]: hit["passages"] for hit in hits}
    if found.keys() != stored.keys():
        raise Violation(f"a search finds {len(found)} of {len(stored)} documents")
    for doc_id, passages in found.items():
        if (text := " ".join(each["text"] for each in sorted(passages, key=itemgetter("start")))) != stored[
            doc_id
        ].text:
            raise Violation(f"the passages of {doc_id} are {text!r}, not {stored[doc_id].text!r}")
    flat = [each for passages in found.values() for each in passages]
    texts = [each["text"] for each in flat]
    compared = {"left": [query], "right": texts, "truncate": "END"}
    fresh = http.post("/similarity", json=compared).raise_for_status().json()["scores"][0]
    return max(float(abs(each["score"] - score)) for each, score in zip(flat, fresh, strict=True))


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
    figures = asdict(run(options.kills, options.seed, wide_console()))
    conclude("crashes", figures, [[figures]], [])


if __name__ == "__main__":
    main()
