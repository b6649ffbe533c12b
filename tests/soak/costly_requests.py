"""Do a few costly requests of one caller keep the searches of another waiting?

    python -m tests.soak.costly_requests --seconds 20

starts a service with two keys and a collection. One caller sends costly requests of one kind after the other, and
leaves some of them before their answers; meanwhile the other searches. Each row shows the requests and their statuses,
and the searches of the other; the exit code is 1 if the p99 of these exceeds two seconds, or one fails.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import secrets
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx2

from semblance.service.api.edge.key_entries import entry_of
from tests.soak.figures import broken, conclude
from tests.soak.unfair_caller import RETRY_S, WORDS
from tests.support.running_service import running_service
from tests.support.service_monitor import percentiles
from tests.support.waiting import CEILING_S

DOCUMENTS = 5000
P99_S = 2.0
LEFT_AFTER_S = 0.5


@dataclass(frozen=True, slots=True)
class Costly:
    """A kind of costly request: path and body, how many at once, and after how many seconds each is left."""

    name: str
    path: str
    body: Mapping[str, Any]
    at_once: int = 12
    left_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """Statuses of the costly requests, 0 for those that were left, and seconds and statuses of the searches."""

    name: str
    statuses: Mapping[int, int]
    searches: Sequence[tuple[float, int]]

    @property
    def failed(self) -> int:
        return sum(status != 200 for _, status in self.searches)

    @property
    def p99_s(self) -> float:
        return percentiles([seconds for seconds, _ in self.searches]).p99_ms / 1000

    @property
    def answers(self) -> str:
        """The number of costly requests by their status, or that the client left."""
        return ", ".join(f"{count:,} x {status or 'left'}" for status, count in sorted(self.statuses.items()))

    def summary(self) -> dict[str, object]:
        seconds = [each for each, _ in self.searches]
        return {
            "costly_requests": self.name,
            "answers": self.answers or "none",
            "searches": len(seconds),
            "of_them_failed": self.failed,
            "p50_ms": percentiles(seconds).p50_ms,
            "p99_ms": 1000 * self.p99_s,
            "slowest_ms": 1000 * max(seconds),
        }

    def faults(self) -> list[str]:
        unexpected = self.statuses.keys() - {0, 200, 429}
        return broken(
            {
                f"{self.name}: searches have p99 {self.p99_s:.2f} s": self.p99_s > P99_S,
                f"{self.name}: {self.failed} searches failed": self.failed > 0,
                f"{self.name}: answered {sorted(unexpected)}": bool(unexpected),
            }
        )


def kinds() -> list[Costly]:
    long, duplicates = sentence(15_000), "/collections/docs/duplicates"
    marks = {"a": "!" * 100_000, "b": "A cat.", "truncate": "END", "format": "svg"}
    search = {"query": sentence(), "collection": "docs", "k": 1000}
    several = {"queries": [sentence() for _ in range(64)], "collection": "docs", "k": 100}
    reranked = {"query": sentence(), "documents": [sentence(60) for _ in range(1000)], "measure": "rcmd"}
    return [
        Costly("SVG of 100,000 marks", "/explain", marks),
        Costly("SVG of 100,000 marks, left", "/explain", marks, 60, LEFT_AFTER_S),
        Costly("HTML of 15,000 words", "/explain", {"a": long, "b": long, "truncate": "END", "format": "html"}),
        Costly("PNG of 15,000 words", "/explain", {"a": long, "b": long, "truncate": "END", "format": "png"}),
        Costly("difference", "/explain/difference", {"query": sentence(), "a": "d0", "b": "d1", "collection": "docs"}),
        Costly("duplicates from -1", duplicates, {"min_score": -1}),
        Costly("duplicates from -1, left", duplicates, {"min_score": -1}, 60, LEFT_AFTER_S),
        Costly("map", "/collections/docs/map", {}),
        Costly("1000 hits, explained", "/search", {**search, "explain": True}),
        Costly("1000 hits, highlighted", "/search", {**search, "highlight": True}),
        Costly("1000 hits by rcmd", "/search", {**search, "measure": "rcmd", "candidates": 1000}),
        Costly("100 hits of 64 queries", "/search", several),
        Costly("1000 documents to rerank", "/rerank", reranked),
        Costly("count of 5000 values", "/collections/docs/count", {"facets": [{"field": "number", "values": 100}]}),
    ]


def sentence(words: int = 20) -> str:
    return " ".join(random.choices(WORDS, k=words))


def run(seconds: float, only: Sequence[str] = ()) -> list[Row]:
    costly, other = secrets.token_hex(), secrets.token_hex()
    keys = f"{entry_of('costly', ['read', 'write', 'admin'], costly)},{entry_of('other', ['read'], other)}"
    spawn = multiprocessing.get_context("spawn")
    with running_service(models="minilm", api_keys=keys) as url, ProcessPoolExecutor(1, spawn) as process:
        fill(url, costly)
        rows = [Row("none", {}, asyncio.run(searches(url, other, time.monotonic() + seconds)))]
        for kind in kinds():
            if not only or kind.name in only:
                until = time.monotonic() + seconds
                load = process.submit(send_all, url, costly, kind, until)
                searched = asyncio.run(searches(url, other, until))
                rows.append(Row(kind.name, load.result(), searched))
        return rows


def fill(url: str, key: str) -> None:
    with httpx2.Client(base_url=url, timeout=CEILING_S, headers={"authorization": f"Bearer {key}"}) as http:
        http.put("/collections/docs", json={}).raise_for_status()
        for start in range(0, DOCUMENTS, 500):
            documents = [
                {"id": f"d{number}", "text": sentence(), "metadata": {"number": number}}
                for number in range(start, start + 500)
            ]
            http.post("/collections/docs/documents", json={"documents": documents}).raise_for_status()


async def searches(url: str, key: str, until: float) -> list[tuple[float, int]]:
    """Search again and again, each time for another text."""
    done: list[tuple[float, int]] = []
    async with httpx2.AsyncClient(base_url=url, timeout=CEILING_S, headers={"authorization": f"Bearer {key}"}) as http:
        while time.monotonic() < until:
            began = time.monotonic()
            answer = await http.post("/search", json={"query": sentence(8), "collection": "docs"})
            done.append((time.monotonic() - began, answer.status_code))
            await asyncio.sleep(0.02)
    return done


def send_all(url: str, key: str, kind: Costly, until: float) -> Counter[int]:
    """Send costly requests until a time; the last ones are left."""
    statuses = Counter[int]()

    async def send() -> None:
        headers, limits = {"authorization": f"Bearer {key}"}, httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(base_url=url, timeout=None, headers=headers, limits=limits) as http:
            tasks = [asyncio.create_task(_send_repeatedly(http, kind, statuses)) for _ in range(kind.at_once)]
            await asyncio.wait(tasks, timeout=until - time.monotonic(), return_when=asyncio.FIRST_EXCEPTION)
            for task in tasks:
                task.cancel()
            for outcome in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(outcome, Exception):
                    raise outcome

    asyncio.run(send())
    return statuses


async def _send_repeatedly(http: httpx2.AsyncClient, kind: Costly, statuses: Counter[int]) -> None:
    while True:
        try:
            async with asyncio.timeout(kind.left_after_s):
                answer = await http.post(kind.path, json=kind.body)
        except TimeoutError:
            statuses[0] += 1
            continue
        statuses[answer.status_code] += 1
        if answer.status_code != 200:
            await asyncio.sleep(RETRY_S)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20, help="duration of each kind")
    parser.add_argument("--only", nargs="*", default=(), help="names of kinds")
    options = parser.parse_args(arguments)
    rows = run(options.seconds, options.only)
    summaries = [each.summary() for each in rows]
    conclude("costly_requests", summaries, [summaries], [fault for each in rows for fault in each.faults()])


if __name__ == "__main__":
    main()
