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
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

import httpx2

from semblance.service.api.edge.key_entries import entry_of
from tests.soak.figures import broken, conclude
from tests.soak.normal_client import Call, NormalClient
from tests.support.running_service import running_service
from tests.support.service_monitor import percentiles
from tests.support.waiting import until

CONNECTIONS = {1000: 2, 200: 1, 40: 4, 8: 6, 1: 10}  # by number of texts in each request
WORDS = ("a", "dog", "in", "the", "house", "saw", "an", "old", "man", "who", "gave", "it", "food", "and", "water")
TEXT_WORDS = 200
IDLE_REQUESTS = 200
RETRY_S = 0.5  # a caller who ignores Retry-After


@dataclass(slots=True)
class HeavyLoad:
    """Answers that the demanding caller got; `longest_batch_s` is measured by its requests of one text."""

    statuses: Counter[int] = field(default_factory=Counter)
    texts: int = 0
    seconds: float = 0.0
    longest_batch_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Report:
    """Small requests to an idle and to a loaded service, and the load."""

    idle: Sequence[Call]
    loaded: Sequence[Call]
    load: HeavyLoad

    @property
    def bound_s(self) -> float:
        """The largest acceptable p99 under load."""
        return p99_s(self.idle) + 2 * self.load.longest_batch_s

    def summary(self) -> dict[str, object]:
        return {
            "small_requests": len(self.loaded),
            "of_them_failed": failures(self.loaded),
            "idle_p99_ms": 1000 * p99_s(self.idle),
            "loaded_p99_ms": 1000 * p99_s(self.loaded),
            "bound_ms": 1000 * self.bound_s,
            "longest_batch_ms": 1000 * self.load.longest_batch_s,
            "load_texts_per_s": self.load.texts / self.load.seconds,
        }

    def faults(self) -> list[str]:
        loaded_s, failed = p99_s(self.loaded), failures([*self.idle, *self.loaded])
        return broken(
            {
                f"small requests have p99 {loaded_s:.2f} s, the bound is {self.bound_s:.2f} s": loaded_s > self.bound_s,
                f"{failed} small requests failed": failed > 0,
                f"the load was answered {dict(self.load.statuses)}": not self.load.statuses.keys() <= {200, 429},
            }
        )


def p99_s(calls: Sequence[Call]) -> float:
    return percentiles([each.seconds for each in calls]).p99_ms / 1000


def failures(calls: Sequence[Call]) -> int:
    return sum(each.status != 200 for each in calls)


def run(seconds: float) -> Report:
    heavy, light = secrets.token_hex(), secrets.token_hex()
    keys = f"{entry_of('heavy', ['read'], heavy)},{entry_of('light', ['read'], light)}"
    spawn = multiprocessing.get_context("spawn")
    with running_service(models="minilm", api_keys=keys) as url, ProcessPoolExecutor(1, spawn) as process:
        client = NormalClient(url, light, searches=False)
        with client.running():
            until(lambda: len(client.calls) >= IDLE_REQUESTS, "requests to an idle service")
            began = time.monotonic()
            load = process.submit(run_heavy_load, url, heavy, seconds).result()
        idle = [each for each in client.calls if each.start < began]
        full = began + seconds / 6  # its requests fill the queue
        return Report(idle, [each for each in client.calls if each.start >= full], load)


def run_heavy_load(url: str, key: str, seconds: float) -> HeavyLoad:
    """Send the requests of the demanding caller; those in flight at the end are aborted."""
    load = HeavyLoad(seconds=seconds)

    async def send_all() -> None:
        headers = {"authorization": f"Bearer {key}"}
        async with httpx2.AsyncClient(base_url=url, timeout=None, headers=headers) as http:
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
            [ms] = re.findall(r"\bencode;dur=([\d.]+)", answer.headers["server-timing"])
            load.longest_batch_s = max(load.longest_batch_s, float(ms) / 1000)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="duration of the load")
    report = run(parser.parse_args(arguments).seconds)
    conclude("unfair_caller", report.summary(), [[report.summary()]], report.faults())


if __name__ == "__main__":
    main()
