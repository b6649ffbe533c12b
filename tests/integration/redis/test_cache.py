"""The Redis cache when Redis is killed, stopped, full or locked: never an error, never a wait beyond the budget."""

from __future__ import annotations

import asyncio
import logging
import socket
import time

import numpy as np
import pytest
from redis.asyncio import Redis

from semblance.models.embeddings import TokenEmbeddings
from semblance.service.caches.redis import CONNECTIONS, FAILURES, PREFIX, REST_S
from tests.integration.redis.lookups import BUDGET_S, ENTRIES, KEYS, caching, look, remember
from tests.support.running_service import free_port
from tests.support.servers.redis_server import RedisServer
from tests.support.standing_clock import Clock

pytestmark = pytest.mark.alone


def test_values_have_a_time_to_live_and_those_too_large_are_not_written(redis_server: RedisServer) -> None:
    async def use() -> None:
        async with caching(redis_server.url) as cache, Redis.from_url(redis_server.url) as redis:
            large = TokenEmbeddings(np.ones((1000, 100), np.float32), np.ones(1000, np.float32))
            await cache.set_many({"large": large, **ENTRIES})
            assert sorted(await redis.keys()) == sorted((PREFIX + key).encode() for key in KEYS)
            for key in KEYS[:3]:
                assert 0 < await redis.ttl(PREFIX + key) <= 60

    asyncio.run(use())


def test_a_redis_that_dies_and_comes_back_is_used_again_after_a_rest(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    async def use() -> None:
        clock = Clock()
        async with caching(redis_server.url, clock) as cache:
            await remember(cache, *KEYS)
            assert await look(cache, *KEYS) == ["hit"] * len(KEYS)
            redis_server.kill()
            for _ in range(FAILURES):
                assert await look(cache, "key 1", "key 2") == ["unreachable"] * 2
                await remember(cache, "key 1")
            assert await look(cache, "key 1") == ["resting"]
            clock.now += REST_S
            assert await look(cache, "key 1") == ["unreachable"], "the probe"
            assert await look(cache, "key 1") == ["resting"]
            redis_server.start()
            assert await look(cache, "key 1") == ["resting"]
            clock.now += REST_S
            assert await look(cache, "key 1") == ["absent"]
            await remember(cache, "key 1")
            assert await look(cache, "key 1") == ["hit"]

    asyncio.run(use())
    said = [record.getMessage() for record in caplog.records if record.name == "semblance.service.caches.redis"]
    where = f"Redis at 127.0.0.1:{redis_server.port}"
    assert said.count(f"{where} rests for 5 s: ConnectionError") == len([each for each in said if "rests" in each]) <= 2
    assert said[-1] == f"{where} answers again"


def test_a_redis_that_was_restarted_between_two_calls_costs_at_most_one_lookup(redis_server: RedisServer) -> None:
    async def use() -> None:
        async with caching(redis_server.url) as cache:
            await remember(cache, "key 1")
            redis_server.kill()
            redis_server.start()
            await look(cache, "key 1")
            assert await look(cache, "key 1") == ["absent"]
            await remember(cache, "key 1")
            assert await look(cache, "key 1") == ["hit"]

    asyncio.run(use())


def test_a_redis_that_accepts_and_never_answers_costs_the_budget_and_then_nothing(redis_server: RedisServer) -> None:
    async def use() -> None:
        clock = Clock()
        async with caching(redis_server.url) as filling:
            await remember(filling, *KEYS)
        async with caching(redis_server.url, clock, BUDGET_S) as cache:
            redis_server.pause()
            for _ in range(FAILURES):
                assert await look(cache, *KEYS) == ["timeout"] * len(KEYS)
            began = time.perf_counter()
            for _ in range(100):
                assert await look(cache, "key 1") == ["resting"]
                await remember(cache, "key 1")
            assert time.perf_counter() - began < BUDGET_S
            redis_server.resume()
            clock.now += REST_S
            assert "hit" in await look(cache, *KEYS)

    asyncio.run(use())


def test_many_callers_of_a_silent_redis_all_return_within_the_budget(redis_server: RedisServer) -> None:
    async def use() -> None:
        async with caching(redis_server.url, budget_s=BUDGET_S) as cache:
            redis_server.pause()
            calls = [look(cache, "key 1") if i % 2 else remember(cache, "key 1") for i in range(20 * CONNECTIONS)]
            await asyncio.gather(*calls)
            redis_server.resume()

    asyncio.run(use())


def test_the_budget_covers_connecting() -> None:
    """A listener with a full queue: the kernel leaves further connections unanswered."""

    async def use(port: int) -> None:
        async with caching(f"redis://127.0.0.1:{port}/0", budget_s=BUDGET_S) as cache:
            assert await look(cache, "key 1") == ["timeout"]

    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        asyncio.run(use(listener.getsockname()[1]))
        for filler in fillers:
            filler.close()


@pytest.mark.parametrize("database", ["redis://user:hunter2@127.0.0.1:{}/0", "redis://127.0.0.1:{}/3"])
def test_the_budget_covers_the_greeting_of_a_server_that_stays_silent(database: str) -> None:
    async def use(port: int) -> None:
        async with caching(database.format(port), budget_s=BUDGET_S) as cache:
            assert await look(cache, "key 1") == ["timeout"]
            assert not await cache.ping()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        asyncio.run(use(listener.getsockname()[1]))


def test_a_full_redis_refuses_writes_and_still_answers_reads(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def use() -> None:
        async with caching(redis_server.url) as cache, Redis.from_url(redis_server.url) as redis:
            await remember(cache, "key 1")
            await redis.config_set("maxmemory-policy", "noeviction")
            await redis.config_set("maxmemory", "1")
            for _ in range(2 * FAILURES):
                await remember(cache, "key 2")
                assert await look(cache, "key 1", "key 2") == ["hit", "absent"]

    asyncio.run(use())
    assert [record.getMessage() for record in caplog.records] == [
        f"Redis at 127.0.0.1:{redis_server.port} rests for 5 s: OutOfMemoryError command"
    ]


def test_a_replica_is_read_and_its_refusal_of_writes_is_no_error(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    async def use() -> None:
        async with caching(redis_server.url) as cache, Redis.from_url(redis_server.url) as redis:
            await remember(cache, "key 1")
            await redis.replicaof("127.0.0.1", free_port())
            for _ in range(2 * FAILURES):
                await remember(cache, "key 2")
                assert await look(cache, "key 1", "key 2") == ["hit", "absent"]

    asyncio.run(use())
    assert "ReadOnlyError" in caplog.text
    assert len(caplog.records) == 1


@pytest.mark.parametrize("login", ["", ":hunter2@", "reader:hunter2@"], ids=["none", "wrong password", "unknown user"])
def test_a_redis_that_wants_another_password_is_a_miss_and_the_password_stays_secret(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture, login: str
) -> None:
    redis_server.kill()
    redis_server.start("--requirepass", "another")

    async def use() -> None:
        async with caching(f"redis://{login}127.0.0.1:{redis_server.port}/0") as cache:
            for _ in range(FAILURES):
                assert await look(cache, "key 1") == ["unreachable"]
                await remember(cache, "key 1")
            assert await look(cache, "key 1") == ["resting"]

    asyncio.run(use())
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "hunter2" not in caplog.text


def test_the_right_password_opens(redis_server: RedisServer) -> None:
    redis_server.kill()
    redis_server.start("--requirepass", "s/e@c:ret")

    async def use() -> None:
        async with caching(f"redis://:s%2Fe%40c%3Aret@127.0.0.1:{redis_server.port}/2") as cache:
            await remember(cache, "key 1")
            assert await look(cache, "key 1") == ["hit"]

    asyncio.run(use())
