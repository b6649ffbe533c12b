"""Does a service that is killed at random moments keep every acknowledged write?

    python -m tests.soak.crashes --kills 30

Writers upsert (as JSON and as NDJSON), mark and delete their own documents, many of which have several passages, and
readers search in every mode, with highlights, and list duplicates, while the process is killed at random moments,
sometimes during its start. After each restart: every acknowledged write is there, no deleted document is back, no id
occurs twice, and a search finds exactly the stored documents, with all of their passages and the scores of fresh
vectors.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import httpx2
from rich.console import Console
from rich.progress import track

from semblance.service.composition.stores import open_embedded_store
from semblance.service.settings import read_settings
from semblance.service.usecases.maintenance.verify import verify
from tests.soak.figures import conclude
from tests.soak.traffic.ledger import Ledger, Stored, stored_documents
from tests.soak.traffic.request_log import CUT_OFF, READS, WRITES, RequestLog
from tests.soak.traffic.target import Target
from tests.soak.traffic.traffic import Traffic
from tests.support.project import PROJECT
from tests.support.running_service import SEMBLANCE, Service
from tests.support.waiting import CEILING_S, until
from tests.support.wide_console import wide_console

COLLECTION = "crashes"
IDS_PER_WRITER = 50
READ = {"search forms": 5, "duplicates": 1}  # kinds of reads, with their weights
MAX_WRITES, READS_EACH = 60, 3  # acknowledged, and answered, before each kill
JITTER_S = 0.05  # until the kill: it may meet any step of a request
KILLED_WHILE_STARTING = 0.2  # share of the kills during a start
SUBJECTS = ("The parcel", "A refund", "My account", "The invoice", "An order", "The courier", "Your password")
VERBS = ("arrived", "was lost", "cannot be found", "was paid", "is late", "was cancelled", "broke", "changed")
CUT = {"tokens": 16, "overlap": 0}  # most passages then have one sentence
MAX_PASSAGES = 10  # of a document; they have fewer


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


def sentences(rng: random.Random) -> str:
    parts = (f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.randrange(10**6)} times." for _ in range(4))
    return " ".join([*parts][: rng.choice((1, 1, 2, 4))])


def run(kills: int, seed: int, console: Console, **settings: str) -> CrashReport:
    """Kill and restart a service with these settings repeatedly.

    Raises:
        Violation: an acknowledged write was lost, or an answer is wrong.
    """
    report, ledger, rng = CrashReport(), Ledger(), random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder), PROJECT, SEMBLANCE, None, snapshot_s="0.5", **settings)
        address = f"{service.start()}/collections/{COLLECTION}"
        try:
            created = httpx2.put(address, json={"tokens": "int8", "passages": CUT}, timeout=600)
            ledger.begin(created.raise_for_status().json()["version"], {})
            for _ in track(range(kills), "killing", console=console):
                _work_and_kill(service, ledger, report, rng)
                if rng.random() < KILLED_WHILE_STARTING:
                    _kill_while_starting(service, rng)
                    report.killed_while_starting += 1
                service.start()
                _check(service.url, ledger, report, rng)
        finally:
            service.stop()
        _verify(Path(folder))
    return report


def _work_and_kill(service: Service, ledger: Ledger, report: CrashReport, rng: random.Random) -> None:
    """Run writers and readers for a random number of writes, then kill the service."""
    target, writes = Target(service.url, COLLECTION, ledger, text=sentences), rng.randint(1, MAX_WRITES)
    log = target.log
    with Traffic(target, rng.getrandbits(32), READ, readers=1, ids=IDS_PER_WRITER):
        until(
            lambda: _faults(log) or (log.succeeded(WRITES) >= writes and log.succeeded(READS) >= READS_EACH),
            f"{writes} writes and {READS_EACH} reads",
        )
        time.sleep(rng.uniform(0, JITTER_S))  # no verdict: only the moment of the kill
        service.kill()
    report.kills += 1
    if faults := _faults(log):
        raise Violation("; ".join(faults))
    report.writes_acknowledged += log.succeeded(WRITES)
    report.writes_cut_off += log.failures(WRITES).total()
    report.searches += log.succeeded(READS)


def _faults(log: RequestLog) -> list[str]:
    """Wrong answers, and failures other than those of requests that a kill cut off."""
    return log.violations + [f"{kind}: {reason}" for kind, reason in [*log.failed] if reason != CUT_OFF]


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
        listed = _listed(http)
        stored = stored_documents(listed)
        if len(stored) < len(listed):
            raise Violation("an id is listed twice")
        for doc_id in {*ledger.ids_of(ledger.epoch), *stored}:
            if stored.get(doc_id) not in (allowed := ledger.may_hold_now(doc_id)):
                raise Violation(f"{doc_id} holds {stored.get(doc_id)!r}; it may hold {allowed}")
        version = http.get(f"/collections/{COLLECTION}").raise_for_status().json()["version"]
        report.cut_off_but_stored += ledger.settle(stored, version)
        report.documents_at_the_end = len(stored)
        for doc_id in rng.sample(sorted(stored), min(3, len(stored))):
            difference = _score_difference(http, stored[doc_id].text, stored)
            report.largest_score_difference = max(report.largest_score_difference, difference)


def _listed(http: httpx2.Client) -> list[Any]:
    documents: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        page = http.get(f"/collections/{COLLECTION}/documents", params={"cursor": cursor, "limit": 50}).json()
        documents += page["documents"]
        cursor = page["cursor"]
    return documents


def _score_difference(http: httpx2.Client, query: str, stored: Mapping[str, Stored]) -> float:
    """Largest difference between scores of the passages that a search finds and those of freshly encoded texts."""
    body = {"query": query, "collection": COLLECTION, "k": len(stored), "passages": MAX_PASSAGES, "truncate": "END"}
    hits = http.post("/search", json=body).raise_for_status().json()["results"][0]["hits"]
    found = {hit["id"]: hit["passages"] for hit in hits}
    if found.keys() != stored.keys():
        raise Violation(f"a search finds {len(found)} of {len(stored)} documents")
    for doc_id, passages in found.items():
        text = " ".join(each["text"] for each in sorted(passages, key=itemgetter("start")))
        if text != stored[doc_id].text:
            raise Violation(f"the passages of {doc_id} are {text!r}, not {stored[doc_id].text!r}")
    flat = [each for passages in found.values() for each in passages]
    compared = {"left": [query], "right": [each["text"] for each in flat], "truncate": "END"}
    fresh = http.post("/similarity", json=compared).raise_for_status().json()["scores"][0]
    return max(float(abs(each["score"] - score)) for each, score in zip(flat, fresh, strict=True))


def _verify(home: Path) -> None:
    with open_embedded_store(read_settings(home=home)) as (store, indexes):
        faults = [*store.integrity_errors(), *(fault for each in verify(store, indexes) for fault in each.faults)]
    if faults:
        raise Violation("; ".join(faults[:5]))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=30, help="number of kills")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random moments")
    options = parser.parse_args(arguments)
    figures = asdict(run(options.kills, options.seed, wide_console()))
    conclude("crashes", figures, [[figures]], [])


if __name__ == "__main__":
    main()
