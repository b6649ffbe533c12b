"""A running service that caches embeddings in Redis."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.integration.conftest import Api, served
from tests.support.servers.redis_server import RedisServer
from tests.support.servers.word_models import write_model
from tests.support.waiting import until

pytestmark = pytest.mark.waits

TEXTS = [
    f"{who} {what}" for who in ("A man", "The committee", "My cat") for what in ("sleeps.", "plays music.", "ate.")
]
PAUSE_S = 0.2  # of a client between two requests, which leaves the processor to the service
PAIRS = [{"a": a, "b": b} for a in TEXTS for b in TEXTS]


def lookups(http: httpx2.Client) -> dict[str, float]:
    """Counts of lookups by outcome."""
    found = re.findall(r'semblance_cache_lookups_total{outcome="(\w+)"} (\S+)', http.get("/metrics").text)
    return {outcome: float(count) for outcome, count in found}


def explained(api: Api) -> list[Any]:
    """Explanations of pairs by two measures, and of one pair by both granularities."""
    body = {"pairs": PAIRS[:10], "explain": True}
    query = {"a": "A naïve man plays music.", "b": "Someone sings \U0001f3b5", "measure": "rcmd"}
    return [
        *(api.ok("/similarity", body | {"measure": measure}) for measure in ("cosine", "rcmd")),
        *(api.get("/explain", **query, granularity=size) for size in ("word", "token")),
    ]


def test_explanations_from_redis_are_the_same_in_every_process(redis_server: RedisServer) -> None:
    settings = {"models": "minilm", "cache": "redis", "redis_url": redis_server.url, "redis_budget_s": "60"}
    with served(None, **settings) as (_, api):
        outcomes = {"hit", "absent", "corrupt", "swapped", "timeout", "unreachable", "resting"}
        assert lookups(api.http) == dict.fromkeys(outcomes, 0.0)
        first, before = explained(api), lookups(api.http)
        assert explained(api) == first
        assert {outcome for outcome, count in lookups(api.http).items() if count != before[outcome]} == {"hit"}
    with served(None, **settings) as (_, api):
        assert explained(api) == first
        found = lookups(api.http)
        assert (found["hit"] > 0, found["absent"]) == (True, 0)


def test_an_outage_and_its_end_are_logged_once(redis_server: RedisServer, tmp_path: Path) -> None:
    def outages() -> list[str]:
        lines = [json.loads(line) for line in service.log.read_text().splitlines()]
        return [line["message"] for line in lines if line["logger"] == "semblance.service.caches.redis"]

    def ask(number: int) -> None:
        api.scores((f"brad {number}", "kella"))

    words = f"words={write_model(tmp_path / 'words.npz', 0)}"
    settings = {"models": words, "cache": "redis", "redis_url": redis_server.url, "redis_budget_s": "60"}
    with served(None, **settings) as (service, api), ThreadPoolExecutor(8) as clients:
        list(clients.map(ask, range(40)))
        assert outages() == []
        redis_server.kill()
        list(clients.map(ask, range(40, 140)))
        address = f"Redis at 127.0.0.1:{redis_server.port}"
        away = f"{address} fails: ConnectionError; texts are encoded instead, and it is tried again every 5 s"
        assert outages() == [away]
        redis_server.start()
        until(lambda: list(clients.map(ask, range(8))) and len(outages()) > 1, "a probe after the rest")
        list(clients.map(ask, range(40)))
        assert outages() == [away, f"{address} answers again"]


def test_clients_never_notice_that_redis_fails_under_load(redis_server: RedisServer, api: Api) -> None:
    """`api` runs without Redis and gives the expected scores."""
    expected = api.ok("/similarity", {"pairs": PAIRS, "measure": "rcmd"})["scores"]
    stop = threading.Event()

    def ask(http: httpx2.Client, start: int) -> int:
        asked = 0
        while not stop.wait(PAUSE_S):
            at = [(start + 7 * asked + i) % len(PAIRS) for i in range(5)]
            answer = http.post("/similarity", json={"pairs": [PAIRS[i] for i in at], "measure": "rcmd"})
            assert answer.status_code == 200, answer.text
            assert answer.json()["scores"] == pytest.approx([expected[i] for i in at], abs=1e-5)
            asked += 1
        return asked

    def grows(outcome: str) -> Callable[[], bool]:
        before = lookups(http)[outcome]
        return lambda: lookups(http)[outcome] > before

    settings = {"cache": "redis", "redis_url": redis_server.url, "redis_budget_s": "1"}
    with served(None, **settings) as (_, cached), ThreadPoolExecutor(2) as clients:
        http = cached.http
        asking = [clients.submit(ask, http, 20 * i) for i in range(2)]
        try:
            until(grows("hit"))
            for event, outcomes in (
                (redis_server.kill, ("unreachable", "resting")),
                (redis_server.start, ("hit",)),
                (redis_server.pause, ("timeout", "resting")),
                (redis_server.resume, ("hit",)),
            ):
                expected_outcomes = [grows(outcome) for outcome in outcomes]
                event()
                for has_happened in expected_outcomes:
                    until(has_happened, f"lookups that end as {outcomes}")
                assert http.get("/ready").status_code == 200
        finally:
            stop.set()
        assert all(each.result() > 0 for each in asking)
