"""Limits of a service: how soon it refuses, ends and answers others while one client misbehaves."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2

from benchmarks.bounds.bound import at_most
from semblance.service.caches.redis import RedisCache, RedisLimits
from tests.integration.raw_http import begin_pair, head, open_connection
from tests.support.running_service import running_process, running_service
from tests.support.servers.redis_server import RedisServer

FLOOD_S = 3.0
BUDGET_S = 0.1


@at_most(2, "s")
def refusal_of_mistakes() -> float:
    """A request with 45,000 mistakes is refused in two seconds."""
    body = b'{"pairs": [' + b"{}," * 45_000 + b"{}]}"
    with running_service() as url:
        return _seconds_of(url, body, 422)


@at_most(5, "s")
def answer_after_a_disconnect() -> float:
    """A request is answered in five seconds after the client of one with 600 long pairs has left."""
    pairs = [{"a": f"{i} " + "never seen " * 60, "b": f"{i} " + "nor this one " * 60} for i in range(600)]
    with running_service() as url:
        try:
            httpx2.post(f"{url}/similarity", json={"pairs": pairs}, timeout=0.7)
        except httpx2.ReadTimeout:
            return _seconds_of(url, b'{"pairs": [{"a": "quick", "b": "question"}]}', 200)
    raise AssertionError("600 long pairs were scored at once")


def _seconds_of(url: str, body: bytes, status: int) -> float:
    began = time.perf_counter()
    answer = httpx2.post(f"{url}/similarity", content=body, headers={"content-type": "application/json"}, timeout=60)
    assert answer.status_code == status, answer.text
    return time.perf_counter() - began


@at_most(2, "s")
def answers_during_a_flood() -> float:
    """Others are answered in two seconds while a client sends tiny requests and reads no answer."""
    tiny, slowest = head("GET", "/live") * 10_000, 0.0
    with running_service() as url, open_connection(url) as flood, httpx2.Client(base_url=url, timeout=60) as other:
        flood.setblocking(False)
        ends = time.perf_counter() + FLOOD_S
        while time.perf_counter() < ends:
            with suppress(BlockingIOError):
                flood.send(tiny)
            began = time.perf_counter()
            other.get("/live").raise_for_status()
            slowest = max(slowest, time.perf_counter() - began)
    return slowest


@at_most(3.5, "s")
def exit_with_a_hanging_request() -> float:
    """A service whose time to drain is three seconds ends in 3.5 s while a client sends no more of its request."""
    with running_process(drain_s="3", body_pause_s="60") as service, begin_pair(service.url):
        service.process.send_signal(signal.SIGTERM)
        began = time.perf_counter()
        assert service.process.wait(60) == 0
        return time.perf_counter() - began


@at_most(BUDGET_S + 0.4, "s")
def lookups_in_a_hanging_redis() -> float:
    """A hundred concurrent lookups in a Redis that hangs take little more than their budget."""

    async def look_up(url: str) -> float:
        cache = RedisCache(url, RedisLimits(ttl_s=60, budget_s=BUDGET_S, value_bytes=100_000))
        began = time.perf_counter()
        await asyncio.gather(*(cache.get_many([f"key {i}"]) for i in range(100)))
        seconds = time.perf_counter() - began
        await cache.close()
        return seconds

    with TemporaryDirectory() as folder:
        server = RedisServer(Path(folder))
        server.start()
        server.pause()
        try:
            return asyncio.run(look_up(server.url))
        finally:
            server.resume()
            server.kill()
