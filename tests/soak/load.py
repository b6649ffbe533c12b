"""Does the service keep its word under load?

    python -m tests.soak.load --seconds 120 --clients 32

starts a service without a cache, so that the texts of strangers really share batches, asks it for everything once when
nothing else goes on, and then has many clients at once ask for the same in random combinations: similarities, searches,
explanations, embeddings, and now and then storing a document. A fifth of the requests is broken off by the client at a
random moment. It prints how many hung or failed, how far the answers were from those computed alone, how soon /live
answered all the while, and what became of memory; the exit code is 1 if anything was not as it should be.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import httpx2
from rich.console import Console
from rich.table import Table

from tests.support.figures import keep
from tests.support.questions import WRITTEN, AnsweredAlone, Question
from tests.support.running_service import Service, running_process
from tests.support.vital_signs import Spread, VitalSigns, counters, labelled, spread, watched
from tests.support.wide_console import wide_console

BOUND = 1e-5  # how far a score may be from the one computed alone, in float32
LIVE_P99_MS = 100.0
GROWN_SHARE, GROWN_MB = 0.05, 50.0  # memory that grew by no more than one of these is flat
HUNG_S = 60.0
CANCELLED = 0.2
WRITING = 0.1
POOL = 150
OWN_DOCUMENTS = 4  # that each client writes to, again and again


@dataclass(frozen=True, slots=True)
class Load:
    """How many clients ask, and for how long."""

    clients: int = 32
    seconds: float = 120.0
    pool: int = POOL
    seed: int = 0


@dataclass(slots=True)
class Tally:
    """What the clients saw."""

    sent: int = 0
    cancelled: int = 0
    refused: int = 0
    hung: int = 0
    failures: list[str] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    differences: dict[str, list[float]] = field(default_factory=dict)
    documents: dict[str, set[str]] = field(default_factory=dict)

    def answered(self, question: Question, answer: httpx2.Response, seconds: float) -> None:
        """Note an answer."""
        if answer.status_code == 429 and answer.headers.get("retry-after", "").isdigit():
            self.refused += 1
        elif answer.status_code != 200:
            self.failures.append(f"{question.path} {answer.status_code}: {answer.text[:200]}")
        else:
            self.seconds.setdefault(question.kind, []).append(seconds)
            self.differences.setdefault(question.kind, []).append(question.off_by(answer))


@dataclass(frozen=True, slots=True)
class Report:
    """All that was measured."""

    clients: int
    wall_s: float
    sent: int
    cancelled: int
    refused: int
    hung: int
    failures: Sequence[str]
    latency: Mapping[str, Spread]
    worst_difference: Mapping[str, float]
    live: Spread
    live_failures: int
    live_worst_p99_ms: float
    memory_mb: Sequence[float]
    settled_mb: float
    final_mb: float
    queued_tokens: float
    errors: Mapping[str, float]
    texts_per_pass: float
    load_average: float

    def summary(self) -> dict[str, float]:
        """The figures that count."""
        return {
            "clients": self.clients,
            "seconds": round(self.wall_s),
            "requests": self.sent,
            "cancelled": self.cancelled,
            "refused_with_429": self.refused,
            "hung": self.hung,
            "failed": len(self.failures),
            "largest_difference_to_the_answer_alone": max(self.worst_difference.values(), default=math.nan),
            "live_p50_ms": self.live.p50_ms,
            "live_p99_ms": self.live.p99_ms,
            "live_worst_p99_of_ten_seconds_ms": self.live_worst_p99_ms,
            "least_memory_in_the_second_quarter_mb": self.settled_mb,
            "least_memory_in_the_last_quarter_mb": self.final_mb,
            "most_memory_mb": max(self.memory_mb),
            "texts_per_pass": self.texts_per_pass,
            "load_average": self.load_average,
        }

    def faults(self, live_p99_ms: float = LIVE_P99_MS, grown_mb: float = GROWN_MB) -> list[str]:
        """What was not as it should be."""
        grown = self.final_mb - self.settled_mb
        worst = max(self.worst_difference.values(), default=math.inf)
        wrong = {
            f"{self.hung} requests hung": self.hung > 0,
            f"{len(self.failures)} requests failed: {self.failures[:3]}": bool(self.failures),
            f"a score is off by {worst:.1e}": not worst <= BOUND,
            f"/live failed {self.live_failures} times": self.live_failures > 0,
            f"/live has p99 {self.live.p99_ms:.0f} ms": self.live.p99_ms > live_p99_ms,
            f"memory grew from {self.settled_mb:.0f} to {self.final_mb:.0f} MB": grown
            > max(grown_mb, GROWN_SHARE * self.settled_mb),
            f"{self.queued_tokens:.0f} tokens are queued still": self.queued_tokens > 0,
            f"errors were counted: {self.errors}": bool(set(self.errors) - {'code="overloaded"'}),
        }
        return [what for what, holds in wrong.items() if holds]


class Clients:
    """They ask until their time is over, each one request at a time on a connection of its own."""

    def __init__(self, url: str, alone: AnsweredAlone, load: Load) -> None:
        self._url = url
        self._alone = alone
        self._load = load
        self.tally = Tally()

    async def run(self) -> None:
        """All of them at once."""
        unlimited = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        async with httpx2.AsyncClient(base_url=self._url, timeout=HUNG_S, limits=unlimited) as http:
            ends = time.monotonic() + self._load.seconds
            await asyncio.gather(*(self._client(http, number, ends) for number in range(self._load.clients)))
            await self._check_documents(http)

    async def _client(self, http: httpx2.AsyncClient, number: int, ends: float) -> None:
        rng = random.Random(f"{self._load.seed} {number}")
        while time.monotonic() < ends:
            question = self._writing(rng, number) if rng.random() < WRITING else self._alone.draw(rng)
            await self._ask(http, question, rng)

    async def _ask(self, http: httpx2.AsyncClient, question: Question, rng: random.Random) -> None:
        """One request, from which the client may walk away."""
        tally = self.tally
        asking = asyncio.ensure_future(http.post(question.path, json=question.body))
        tally.sent += 1
        began = time.monotonic()
        if tally.cancelled < CANCELLED * tally.sent and rng.random() < 2 * CANCELLED:
            # at any moment of a usual request: queued, under way, or all but done
            usual = fmean(tally.seconds.get(question.kind) or [1.0])
            await asyncio.wait({asking}, timeout=rng.uniform(0, usual))
            if not asking.done():
                asking.cancel()
                await asyncio.wait({asking})
                tally.cancelled += 1
                return
        try:
            answer = await asking
        except httpx2.TimeoutException:
            tally.hung += 1
        except httpx2.TransportError as error:
            tally.failures.append(f"{question.path}: {error!r}")
        else:
            tally.answered(question, answer, time.monotonic() - began)

    def _writing(self, rng: random.Random, number: int) -> Question:
        """A new text for one of the client's own documents; of those before it, any may remain if it is cancelled."""
        document = {"id": f"{number}-{rng.randrange(OWN_DOCUMENTS)}", "text": rng.choice(self._alone.texts)}
        written = self.tally.documents.setdefault(document["id"], set())
        written.add(document["text"])

        def off_by(answer: httpx2.Response) -> float:
            if answer.json()["upserted"] != 1:
                return math.inf
            written.intersection_update({document["text"]})
            return 0.0

        return Question("store", f"/collections/{WRITTEN}/documents", {"documents": [document]}, off_by)

    async def _check_documents(self, http: httpx2.AsyncClient) -> None:
        """Each document holds the last text that was acknowledged, or one that was broken off after it."""
        listed = (await http.get(f"/collections/{WRITTEN}/documents", params={"limit": 1000})).json()["documents"]
        stored = {document["id"]: document["text"] for document in listed}
        for doc_id, possible in self.tally.documents.items():
            if doc_id in stored and stored[doc_id] not in possible:
                self.tally.failures.append(f"document {doc_id} is not what was acknowledged")


def run(service: Service, load: Load) -> Report:
    """Put a running service under load."""
    alone = AnsweredAlone.ask(service.url, load.pool, load.seed)
    before = counters(service.url)
    clients, began = Clients(service.url, alone, load), time.monotonic()
    with watched(service) as signs:
        asyncio.run(clients.run())
    wall_s = time.monotonic() - began
    after = counters(service.url)
    return report(load, wall_s, clients.tally, signs, {name: after[name] - before.get(name, 0.0) for name in after})


def report(load: Load, wall_s: float, tally: Tally, signs: VitalSigns, counted: Mapping[str, float]) -> Report:
    """All of it together; `counted` is what was added to the counters meanwhile."""
    return Report(
        clients=load.clients,
        wall_s=wall_s,
        sent=tally.sent,
        cancelled=tally.cancelled,
        refused=tally.refused,
        hung=tally.hung,
        failures=tally.failures,
        latency={kind: spread(seconds) for kind, seconds in sorted(tally.seconds.items())},
        worst_difference={kind: max(each) for kind, each in sorted(tally.differences.items())},
        live=signs.live_spread,
        live_failures=signs.live_failures,
        live_worst_p99_ms=signs.worst_p99_ms,
        memory_mb=signs.memory_mb,
        settled_mb=signs.settled_mb,
        final_mb=signs.final_mb,
        queued_tokens=sum(labelled(counted, "semblance_queued_tokens").values()),
        errors=labelled(counted, "semblance_errors_total"),
        texts_per_pass=counted["semblance_batch_texts_sum"] / counted["semblance_batch_texts_count"],
        load_average=fmean(signs.load_average),
    )


def show(made: Report, console: Console) -> None:
    """Print it."""
    table = Table("request", "answered", "p50 ms", "p99 ms", "max ms", "largest difference")
    for kind, each in made.latency.items():
        figures = (
            f"{each.p50_ms:.0f}",
            f"{each.p99_ms:.0f}",
            f"{each.max_ms:.0f}",
            f"{made.worst_difference[kind]:.1e}",
        )
        table.add_row(kind, f"{each.count:,}", *figures)
    live = (f"{made.live.p50_ms:.1f}", f"{made.live.p99_ms:.1f}", f"{made.live.max_ms:.1f}")
    table.add_row("/live", f"{made.live.count:,}", *live, "")
    console.print(table)
    console.print(
        f"{made.clients} clients in {made.wall_s:.0f} s: {made.sent:,} requests ({made.sent / made.wall_s:.1f}/s), of "
        f"which {made.cancelled:,} cancelled, {made.refused:,} refused with 429, {made.hung} hung, "
        f"{len(made.failures)} failed"
    )
    console.print(f"/live: worst p99 of any ten seconds {made.live_worst_p99_ms:.1f} ms, {made.live_failures} failures")
    console.print(
        f"memory: at least {made.settled_mb:.0f} MB in the second quarter, {made.final_mb:.0f} MB in the last, at most "
        f"{max(made.memory_mb):.0f} MB"
    )
    console.print(f"batches: {made.texts_per_pass:.1f} texts a pass")
    console.print(f"load average of the machine meanwhile: {made.load_average:.1f}")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--pool", type=int, default=POOL, help="distinct texts")
    parser.add_argument("--cache", choices=("none", "memory"), default="none")
    arguments = parser.parse_args()
    console = wide_console()
    with running_process(cache=arguments.cache) as service:
        made = run(service, Load(arguments.clients, arguments.seconds, arguments.pool))
    show(made, console)
    keep("load", made.summary())
    faults = made.faults()
    for fault in faults:
        console.print(f"[red]{fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
