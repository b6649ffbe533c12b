"""The Redis cache when Redis is killed, paused, full or locked: no errors."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable

import numpy as np
import pytest
from redis.asyncio import Redis

from semblance.models.embeddings import TokenEmbeddings
from semblance.service.caches.redis import CONNECTIONS, FAILURES, PREFIX, REST_S
from tests.integration.redis.checked_lookups import BUDGET_S, ENTRIES, KEYS, caching, look_up, store
from tests.support.fake_clock import FakeClock
from tests.support.running_service import reserved_port
from tests.support.servers.redis_server import RedisServer
from tests.support.waiting import eventually

pytestmark = pytest.mark.waits


async def test_values_expire_and_oversized_ones_are_not_stored(redis_server: RedisServer) -> None:
    async with caching(redis_server.url) as cache, Redis.from_url(redis_server.url) as redis:
        large = TokenEmbeddings(np.ones((1000, 100), np.float32), np.ones(1000, np.float32))
        await cache.set_many({"large": large, **ENTRIES})
        assert sorted(await redis.keys()) == sorted((PREFIX + key).encode() for key in KEYS)
        for key in KEYS[:3]:
            assert 0 < await redis.ttl(PREFIX + key) <= 60


async def test_a_restarted_redis_is_used_again_after_a_rest(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "semblance.service.caches.redis")
    clock = FakeClock()
    async with caching(redis_server.url, clock) as cache:
        await store(cache, *KEYS)
        assert await look_up(cache, *KEYS) == ["hit"] * len(KEYS)
        redis_server.kill()
        for _ in range(FAILURES):
            assert await look_up(cache, "key 1", "key 2") == ["unreachable"] * 2
            await store(cache, "key 1")
        assert await look_up(cache, "key 1") == ["resting"]
        clock.now += REST_S
        assert await look_up(cache, "key 1") == ["unreachable"], "the probe"
        redis_server.start()
        assert await look_up(cache, "key 1") == ["resting"]
        clock.now += REST_S
        assert await look_up(cache, "key 1") == ["absent"]
        await store(cache, "key 1")
        assert await look_up(cache, "key 1") == ["hit"]
        redis_server.kill()
        redis_server.start()
        await look_up(cache, "key 1")
        assert await look_up(cache, "key 1") == ["absent"], "a restart between calls costs one lookup at most"
    address = f"Redis at 127.0.0.1:{redis_server.port}"
    remedy = "texts are encoded instead, and it is tried again every 5 s"
    messages = [record.getMessage() for record in caplog.records]
    assert messages == [f"{address} fails: ConnectionError; {remedy}", f"{address} answers again"]


@pytest.mark.parametrize("first", ["writes", "reads"])
async def test_an_outage_is_logged_once_whichever_call_finds_it(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture, first: str
) -> None:
    """Requests under way when Redis dies have read already, and find it as they write."""
    caplog.set_level(logging.INFO, "semblance.service.caches.redis")
    clock = FakeClock()
    async with caching(redis_server.url, clock) as cache:
        redis_server.kill()
        for _ in range(FAILURES):
            await (store(cache, "key 1") if first == "writes" else look_up(cache, "key 1"))
        for _ in range(2 * FAILURES):
            await look_up(cache, "key 1")
            await store(cache, "key 1")
            clock.now += REST_S
        redis_server.start()
        clock.now += REST_S
        await look_up(cache, "key 1")
        await store(cache, "key 1")
        assert await look_up(cache, "key 1") == ["hit"], "both circuits are closed"
        clock.now += REST_S
        await store(cache, "key 2")
    levels = [record.levelname for record in caplog.records]
    assert levels == ["WARNING", "INFO"], caplog.text


async def test_a_hanging_redis_costs_the_budget_and_then_nothing(redis_server: RedisServer) -> None:
    clock = FakeClock()
    async with caching(redis_server.url) as filling:
        await store(filling, *KEYS)
    async with caching(redis_server.url, clock, BUDGET_S) as cache:
        redis_server.pause()
        for _ in range(FAILURES):
            assert await look_up(cache, *KEYS) == ["timeout"] * len(KEYS)
        for _ in range(100):
            assert await look_up(cache, "key 1") == ["resting"]
        await cache.set_many({"new": ENTRIES["key 1"]})
        redis_server.resume()

        async def answers() -> bool:
            clock.now += REST_S
            return "hit" in await look_up(cache, *KEYS)

        await eventually(answers, "a lookup within the budget")
    async with Redis.from_url(redis_server.url) as redis:
        assert not await redis.exists(PREFIX + "new"), "a write meanwhile reached Redis"


async def test_all_concurrent_callers_of_a_hanging_redis_return(redis_server: RedisServer) -> None:
    """Also those that wait for a connection."""
    async with caching(redis_server.url, budget_s=BUDGET_S) as cache:
        redis_server.pause()
        calls = [look_up(cache, "key 1") for _ in range(20 * CONNECTIONS)]
        assert await asyncio.gather(*calls, store(cache, "key 1")) == [["timeout"]] * len(calls) + [None]
        redis_server.resume()


async def test_the_budget_covers_connecting() -> None:
    """The listener's queue is full, so the kernel leaves further connections unanswered."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        port = listener.getsockname()[1]
        async with caching(f"redis://127.0.0.1:{port}/0", budget_s=BUDGET_S) as cache:
            assert await look_up(cache, "key 1") == ["timeout"]
        for filler in fillers:
            filler.close()


@pytest.mark.parametrize("database", ["redis://user:hunter2@127.0.0.1:{}/0", "redis://127.0.0.1:{}/3"])
async def test_the_budget_covers_the_handshake(database: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with caching(database.format(listener.getsockname()[1]), budget_s=BUDGET_S) as cache:
            assert await look_up(cache, "key 1") == ["timeout"]
            assert not await cache.ping()


async def fill(redis: Redis) -> None:
    """Leave no memory for another value."""
    await redis.config_set("maxmemory-policy", "noeviction")
    await redis.config_set("maxmemory", "1")


async def make_a_replica(redis: Redis) -> None:
    await redis.replicaof("127.0.0.1", reserved_port())


@pytest.mark.parametrize(
    ("hinder", "error"), [(fill, "OutOfMemoryError command"), (make_a_replica, "ReadOnlyError You")]
)
async def test_a_redis_that_refuses_writes_still_answers_reads(
    redis_server: RedisServer,
    caplog: pytest.LogCaptureFixture,
    hinder: Callable[[Redis], Awaitable[None]],
    error: str,
) -> None:
    async with caching(redis_server.url) as cache, Redis.from_url(redis_server.url) as redis:
        await store(cache, "key 1")
        await hinder(redis)
        for _ in range(2 * FAILURES):
            await store(cache, "key 2")
            assert await look_up(cache, "key 1", "key 2") == ["hit", "absent"]
    [failure] = [record.getMessage() for record in caplog.records]
    assert failure.startswith(f"Redis at 127.0.0.1:{redis_server.port} refuses writes: {error}; texts are encoded")


async def test_a_full_redis_that_dies_is_logged_as_two_failures(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with caching(redis_server.url) as cache, Redis.from_url(redis_server.url) as redis:
        await fill(redis)
        for _ in range(FAILURES):
            await store(cache, "key 1")
        redis_server.kill()
        for _ in range(2 * FAILURES):
            await look_up(cache, "key 1")
    failures = [record.getMessage().partition(": ")[0] for record in caplog.records]
    address = f"Redis at 127.0.0.1:{redis_server.port}"
    assert failures == [f"{address} refuses writes", f"{address} fails"]


@pytest.mark.parametrize("login", ["", ":hunter2@", "reader:hunter2@"], ids=["none", "wrong password", "unknown user"])
async def test_a_wrong_password_is_a_miss_and_is_not_logged(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture, login: str
) -> None:
    redis_server.kill()
    redis_server.start("--requirepass", "s/e@c:ret")
    async with caching(f"redis://{login}127.0.0.1:{redis_server.port}/0") as cache:
        for _ in range(FAILURES):
            assert await look_up(cache, "key 1") == ["unreachable"]
            await store(cache, "key 1")
        assert await look_up(cache, "key 1") == ["resting"]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "hunter2" not in caplog.text
    async with caching(f"redis://:s%2Fe%40c%3Aret@127.0.0.1:{redis_server.port}/2") as cache:
        await store(cache, "key 1")
        assert await look_up(cache, "key 1") == ["hit"], "by the right password"
