"""Are answers right under load, and does nothing hang or leak?

    python -m tests.soak.load --seconds 120 --clients 32

starts a service without a cache, so that texts of different clients really share batches, and computes all answers once
without load. Then many clients concurrently send random combinations of the same requests: similarities, searches,
explanations, embeddings and, now and then, an upsert. A fifth of the requests is cancelled by the client at a random
moment. It prints how many requests hung or failed, the largest difference to the answers without load, the latency of
/live, and the memory; the exit code is 1 if a bound was exceeded.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import math
import random
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import ClassVar

import httpx2

from tests.soak.figures import Rows, broken, conclude
from tests.support.checked_requests import WRITE_COLLECTION, CheckedRequest, checked_requests, excerpts
from tests.support.running_service import Service, running_process
from tests.support.service_monitor import ServiceMonitor, monitored, percentiles, read_metrics, series_named

BOUND = 1e-5  # largest difference of a score to the one computed without load, in float32
LIVE_P99_MS = 100.0
GROWN_SHARE, GROWN_MB = 0.05, 50.0  # memory that grew by at most the larger of these counts as flat
TIMEOUT_S = 120.0
CANCELLED = 0.2  # share of requests
WRITES = 0.1  # share of requests
POOL = 150
OWN_DOCUMENTS = 4  # that each client overwrites repeatedly


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Number of clients, duration or number of requests of each client, and number of distinct texts."""

    clients: int = 32
    seconds: float = 120.0
    requests: int | None = None
    pool: int = POOL
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Upsert:
    """An upsert of one document, and the texts that this may hold: if cancelled, either may be stored."""

    document: Mapping[str, str]
    possible: set[str]
    kind: ClassVar[str] = "store"
    path: ClassVar[str] = f"/collections/{WRITE_COLLECTION}/documents"

    @property
    def body(self) -> Mapping[str, object]:
        return {"documents": [self.document]}

    def error_of(self, answer: httpx2.Response) -> float:
        self.possible.intersection_update({self.document["text"]})
        return 0.0 if answer.json()["upserted"] == 1 else math.inf


@dataclass(slots=True)
class ClientStats:
    """Counts and measurements of all clients together."""

    sent: int = 0
    cancelled: int = 0
    refused: int = 0
    hung: int = 0
    failures: list[str] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    differences: dict[str, list[float]] = field(default_factory=dict)
    documents: dict[str, set[str]] = field(default_factory=dict)

    def record(self, request: CheckedRequest | Upsert, answer: httpx2.Response, seconds: float) -> None:
        if answer.status_code == 429 and answer.headers.get("retry-after", "").isdigit():
            self.refused += 1
        elif answer.status_code != 200:
            self.failures.append(f"{request.path} {answer.status_code}: {answer.text[:200]}")
        else:
            self.seconds.setdefault(request.kind, []).append(seconds)
            self.differences.setdefault(request.kind, []).append(request.error_of(answer))


@dataclass(frozen=True, slots=True)
class Report:
    """All measurements; `increments` are those of the service's counters."""

    load: LoadOptions
    wall_s: float
    stats: ClientStats
    monitor: ServiceMonitor
    increments: Mapping[str, float]

    @property
    def latency(self) -> Rows:
        return [
            {"request": kind, **asdict(percentiles(seconds)), "largest_difference": max(self.stats.differences[kind])}
            for kind, seconds in sorted(self.stats.seconds.items())
        ]

    @property
    def largest_difference(self) -> float:
        return max((each for differences in self.stats.differences.values() for each in differences), default=math.inf)

    def summary(self) -> dict[str, float]:
        live = self.monitor.live_percentiles
        return {
            "clients": self.load.clients,
            "seconds": round(self.wall_s),
            "requests": self.stats.sent,
            "cancelled": self.stats.cancelled,
            "refused_with_429": self.stats.refused,
            "hung": self.stats.hung,
            "failed": len(self.stats.failures),
            "largest_difference_to_the_answer_alone": self.largest_difference,
            "live_p50_ms": live.p50_ms,
            "live_p99_ms": live.p99_ms,
            "live_worst_p99_of_ten_seconds_ms": self.monitor.worst_p99_ms,
            "least_memory_in_the_second_quarter_mb": self.monitor.settled_mb,
            "least_memory_in_the_last_quarter_mb": self.monitor.final_mb,
            "most_memory_mb": max(self.monitor.memory_mb),
            "texts_per_pass": self.increments["semblance_batch_texts_sum"]
            / self.increments["semblance_batch_texts_count"],
            "load_average": fmean(self.monitor.load_average),
        }

    def faults(self) -> list[str]:
        stats = self.stats
        worst = self.largest_difference
        queued = sum(series_named(self.increments, "semblance_queued_tokens").values())
        errors = series_named(self.increments, "semblance_errors_total")
        return broken(
            {
                f"{stats.hung} requests hung": stats.hung > 0,
                f"{len(stats.failures)} requests failed: {stats.failures[:3]}": bool(stats.failures),
                f"a score is off by {worst:.1e}": not worst <= BOUND,
                f"/live failed {self.monitor.live_failures} times": self.monitor.live_failures > 0,
                f"{queued:.0f} tokens are still queued": queued > 0,
                f"errors were counted: {errors}": bool(set(errors) - {'code="overloaded"'}),
            }
        )

    def exceeded(self) -> list[str]:
        live_ms, settled_mb = self.monitor.live_percentiles.p99_ms, self.monitor.settled_mb
        grown_mb = self.monitor.final_mb - settled_mb
        return broken(
            {
                f"/live has p99 {live_ms:.0f} ms": live_ms > LIVE_P99_MS,
                f"memory grew from {settled_mb:.0f} MB by {grown_mb:.0f} MB": grown_mb
                > max(GROWN_MB, GROWN_SHARE * settled_mb),
            }
        )


class LoadClients:
    """Concurrent clients, each with one request at a time on its own connection."""

    def __init__(self, url: str, load: LoadOptions) -> None:
        self._url = url
        self._load = load
        self._texts = excerpts(load.pool, load.seed)
        self._requests = checked_requests(url, self._texts, random.Random(load.seed))
        self.stats = ClientStats()

    async def run(self) -> None:
        unlimited = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        async with httpx2.AsyncClient(base_url=self._url, timeout=TIMEOUT_S, limits=unlimited) as http:
            end = time.monotonic() + self._load.seconds
            await asyncio.gather(*(self._client(http, number, end) for number in range(self._load.clients)))
            await self._check_documents(http)

    async def _client(self, http: httpx2.AsyncClient, number: int, end: float) -> None:
        rng = random.Random(f"{self._load.seed} {number}")
        for _ in itertools.count() if self._load.requests is None else range(self._load.requests):
            if self._load.requests is None and time.monotonic() > end:
                return
            writes = rng.random() < WRITES
            await self._send(http, self._upsert(rng, number) if writes else rng.choice(self._requests), rng)

    async def _send(self, http: httpx2.AsyncClient, request: CheckedRequest | Upsert, rng: random.Random) -> None:
        """Send a request and perhaps cancel it."""
        stats = self.stats
        sending = asyncio.ensure_future(http.post(request.path, json=request.body))
        stats.sent += 1
        start = time.monotonic()
        if stats.cancelled < CANCELLED * stats.sent and rng.random() < 2 * CANCELLED:
            # at any moment of a typical request: queued, running, or nearly complete
            typical_s = fmean(stats.seconds.get(request.kind) or [1.0])
            await asyncio.wait({sending}, timeout=rng.uniform(0, typical_s))
            if not sending.done():
                sending.cancel()
                await asyncio.wait({sending})
                stats.cancelled += 1
                return
        try:
            answer = await sending
        except httpx2.TimeoutException:
            stats.hung += 1
        except httpx2.TransportError as error:
            stats.failures.append(f"{request.path}: {error!r}")
        else:
            stats.record(request, answer, time.monotonic() - start)

    def _upsert(self, rng: random.Random, number: int) -> Upsert:
        document = {"id": f"{number}-{rng.randrange(OWN_DOCUMENTS)}", "text": rng.choice(self._texts)}
        possible = self.stats.documents.setdefault(document["id"], set())
        possible.add(document["text"])
        return Upsert(document, possible)

    async def _check_documents(self, http: httpx2.AsyncClient) -> None:
        """Check that each document has the last acknowledged text or a later, cancelled one."""
        answer = await http.get(f"/collections/{WRITE_COLLECTION}/documents", params={"limit": 1000})
        for each in answer.json()["documents"]:
            if each["text"] not in self.stats.documents[each["id"]]:
                self.stats.failures.append(f"document {each['id']} has another text than acknowledged")


def run(service: Service, load: LoadOptions) -> Report:
    clients = LoadClients(service.url, load)
    before, start = read_metrics(service.url), time.monotonic()
    with monitored(service) as monitor:
        asyncio.run(clients.run())
    wall_s = time.monotonic() - start
    after = read_metrics(service.url)
    increments = {name: after[name] - before.get(name, 0.0) for name in after}
    return Report(load, wall_s, clients.stats, monitor, increments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--pool", type=int, default=POOL, help="distinct texts")
    parser.add_argument("--cache", choices=("none", "memory"), default="none")
    options = parser.parse_args()
    with running_process(cache=options.cache) as service:
        report = run(service, LoadOptions(options.clients, options.seconds, pool=options.pool))
    summary = report.summary()
    conclude("load", summary, [report.latency, [summary]], [*report.faults(), *report.exceeded()])


if __name__ == "__main__":
    main()
