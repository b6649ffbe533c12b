"""Does one caller with large and many requests keep another caller waiting?

    python -m tests.soak.unfair_caller --seconds 60

starts a service with two keys. One caller keeps 23 connections busy with requests of 1 to 1000 texts of 200 words,
more than the model can encode, while the other sends one small request after the other. The exit code is 1 if the p99
of the small requests exceeds that of an idle service by more than twice the duration of the longest batch.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import random
import re
import secrets
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

import httpx2

from semblance.service.api.edge.key_entries import entry_of
from semblance.service.observability.stages import STAGES
from tests.soak.figures import Rows, broken, conclude
from tests.support.running_service import running_service
from tests.support.service_monitor import percentiles

CONNECTIONS = {1000: 2, 200: 1, 40: 4, 8: 6, 1: 10}  # by number of texts in each request
WORDS = ("a", "dog", "in", "the", "house", "saw", "an", "old", "man", "who", "gave", "it", "food", "and", "water")
TEXT_WORDS = 200
IDLE_REQUESTS = 200
PAUSE_S = 0.02  # between small requests
RETRY_S = 0.5  # a caller who ignores Retry-After


@dataclass(slots=True)
class HeavyLoad:
    """Answers that the demanding caller got; `longest_batch_s` is measured by its requests of one text."""

    statuses: Counter[int] = field(default_factory=Counter)
    texts: int = 0
    seconds: float = 0.0
    longest_batch_s: float = 0.0


@dataclass(slots=True)
class SmallRequests:
    """Seconds of each small request, in total and by stage."""

    seconds: list[float] = field(default_factory=list)
    stages: list[Mapping[str, float]] = field(default_factory=list)
    failed: int = 0

    @property
    def p99_s(self) -> float:
        return percentiles(self.seconds).p99_ms / 1000

    def send(self, http: httpx2.Client) -> None:
        number = random.randrange(10**6)
        body = {"pairs": [{"a": f"Parcel {number} is late.", "b": f"Where is number {number}?"}]}
        start = time.perf_counter()
        answer = http.post("/similarity", json=body)
        self.seconds.append(time.perf_counter() - start)
        self.stages.append(_stages(answer))
        self.failed += answer.status_code != 200
        time.sleep(PAUSE_S)


@dataclass(frozen=True, slots=True)
class Report:
    """Small requests to an idle and to a loaded service, and the load."""

    idle: SmallRequests
    loaded: SmallRequests
    load: HeavyLoad

    @property
    def bound_s(self) -> float:
        return self.idle.p99_s + 2 * self.load.longest_batch_s

    def summary(self) -> dict[str, object]:
        return {
            "small_requests": len(self.loaded.seconds),
            "of_them_failed": self.loaded.failed,
            "idle_p99_ms": 1000 * self.idle.p99_s,
            "loaded_p99_ms": 1000 * self.loaded.p99_s,
            "bound_ms": 1000 * self.bound_s,
            "longest_batch_ms": 1000 * self.load.longest_batch_s,
            "load_texts_per_s": self.load.texts / self.load.seconds,
        }

    def stages(self) -> Rows:
        return [
            {"small_requests": name, "p50": percentiles(requests.seconds).p50_ms, "p99": 1000 * requests.p99_s}
            | {stage: percentiles([each[stage] for each in requests.stages]).p99_ms for stage in STAGES}
            for name, requests in (("idle service", self.idle), ("loaded service", self.loaded))
        ]

    def faults(self) -> list[str]:
        p99_s, failed = self.loaded.p99_s, self.idle.failed + self.loaded.failed
        return broken(
            {
                f"small requests have p99 {p99_s:.2f} s, the bound is {self.bound_s:.2f} s": p99_s > self.bound_s,
                f"{failed} small requests failed": failed > 0,
                f"the load was answered {dict(self.load.statuses)}": not self.load.statuses.keys() <= {200, 429},
            }
        )


def run(seconds: float) -> Report:
    heavy, light = secrets.token_hex(), secrets.token_hex()
    keys = f"{entry_of('heavy', ['read'], heavy)},{entry_of('light', ['read'], light)}"
    spawn = multiprocessing.get_context("spawn")
    with (
        running_service(models="minilm", api_keys=keys) as url,
        ProcessPoolExecutor(1, spawn) as process,
        httpx2.Client(base_url=url, timeout=60, headers=_authorization(light)) as http,
    ):
        idle, loaded = SmallRequests(), SmallRequests()
        for _ in range(IDLE_REQUESTS):
            idle.send(http)
        load = process.submit(run_heavy_load, url, heavy, seconds)
        time.sleep(seconds / 6)  # until its requests fill the queue
        while not load.done():
            loaded.send(http)
        return Report(idle, loaded, load.result())


def run_heavy_load(url: str, key: str, seconds: float) -> HeavyLoad:
    """Send the requests of the demanding caller; those in flight at the end are aborted."""
    load = HeavyLoad(seconds=seconds)

    async def send_all() -> None:
        async with httpx2.AsyncClient(base_url=url, timeout=None, headers=_authorization(key)) as http:
            sizes = [size for size, count in CONNECTIONS.items() for _ in range(count)]
            tasks = [asyncio.create_task(_send_repeatedly(http, size, load)) for size in sizes]
            await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
            for task in tasks:
                task.cancel()
            for outcome in await asyncio.gather(*tasks, return_exceptions=True):
                if isinstance(outcome, Exception):
                    raise outcome

    asyncio.run(send_all())
    return load


async def _send_repeatedly(http: httpx2.AsyncClient, size: int, load: HeavyLoad) -> None:
    while True:
        texts = [" ".join(random.choices(WORDS, k=TEXT_WORDS)) for _ in range(size)]
        body = {"input": texts, "model": "minilm", "encoding_format": "base64"}
        answer = await http.post("/v1/embeddings", json=body)
        load.statuses[answer.status_code] += 1
        if answer.status_code != 200:
            await asyncio.sleep(RETRY_S)
            continue
        load.texts += size
        if size == 1:
            load.longest_batch_s = max(load.longest_batch_s, _stages(answer)["encode"])


def _stages(answer: httpx2.Response) -> dict[str, float]:
    """Seconds by stage, as the service reports them."""
    return {name: float(ms) / 1000 for name, ms in re.findall(r"(\w+);dur=([\d.]+)", answer.headers["server-timing"])}


def _authorization(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="duration of the load")
    options = parser.parse_args(arguments)
    report = run(options.seconds)
    conclude("unfair_caller", report.summary(), [report.stages(), [report.summary()]], report.faults())


if __name__ == "__main__":
    main()
