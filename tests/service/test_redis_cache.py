"""The Redis cache when Redis is killed, stopped, full, locked or lying: never an error, never a wrong vector."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise
from typing import get_args

import numpy as np
import pytest
from redis.asyncio import Redis

from models.embeddings import TokenEmbeddings
from service.caches.record import pack
from service.caches.redis import CONNECTIONS, FAILURES, PREFIX, REST_S, RedisCache, RedisLimits
from service.ports import Miss
from tests.redis_server import RedisServer, free_port
from tests.service.faulty_proxy import Faults, faulty_proxy

BUDGET_S = 0.1  # where it runs out
PATIENT_S = 5.0  # where it should not, however loaded the machine
SLACK_S = 0.4  # what a loaded machine may add
KEYS = [f"key {i}" for i in range(200)]


class Clock:
    """Stands still unless moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def entry(key: str) -> TokenEmbeddings:
    """The embeddings of that key, and of no other: every number depends on it."""
    rng = np.random.default_rng(list(key.encode()))
    n = int(rng.integers(1, 30))
    return TokenEmbeddings(rng.normal(size=(n, 16)).astype(np.float32), rng.random(n, np.float32))


ENTRIES = {key: entry(key) for key in KEYS}


def require_own(key: str, found: TokenEmbeddings | Miss) -> None:
    """A hit has all the bits that were stored under its key; anything else is one of the reasons."""
    if isinstance(found, TokenEmbeddings):
        assert found.vectors.tobytes() == ENTRIES[key].vectors.tobytes(), key
        assert found.weights.tobytes() == ENTRIES[key].weights.tobytes(), key
    else:
        assert found in get_args(Miss)


@asynccontextmanager
async def caching(url: str, clock: Clock | None = None, budget_s: float = PATIENT_S) -> AsyncIterator[RedisCache]:
    limits = RedisLimits(ttl_s=60, budget_s=budget_s, value_bytes=100_000)
    cache = RedisCache(url, limits, clock or Clock())
    try:
        yield cache
    finally:
        await cache.close()


@contextmanager
def within_budget(cache: RedisCache) -> Iterator[None]:
    began = time.perf_counter()
    yield
    assert time.perf_counter() - began < cache._limits.budget_s + SLACK_S


@asynccontextmanager
async def lying_to(server: RedisServer, faults: Faults, budget_s: float = PATIENT_S) -> AsyncIterator[RedisCache]:
    """A cache behind a faulty proxy; the server holds all entries."""
    async with caching(server.url) as filling:
        await filling.set_many(ENTRIES)
    async with (
        faulty_proxy(server.port, faults, seed=1) as port,
        caching(f"redis://127.0.0.1:{port}/0", budget_s=budget_s) as cache,
    ):
        yield cache


async def look(cache: RedisCache, *keys: str) -> list[str]:
    """The outcomes of a lookup, whose hits are checked and whose time is, too."""
    with within_budget(cache):
        found = await cache.get_many(keys)
    for key, each in zip(keys, found, strict=True):
        require_own(key, each)
    return ["hit" if isinstance(each, TokenEmbeddings) else each for each in found]


async def remember(cache: RedisCache, *keys: str) -> None:
    with within_budget(cache):
        await cache.set_many({key: ENTRIES[key] for key in keys})


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
    said = [record.getMessage() for record in caplog.records if record.name == "service.caches.redis"]
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


@pytest.mark.parametrize(
    "says",
    [
        b"-LOADING Redis is loading the dataset in memory\r\n",
        b"-ERR unknown command 'AUTH', with args beginning with: 'hunter2'\r\n",
        b"-\xff\xfe\r\n",
        b"+OK\r\n",
        b":5\r\n",
        b"*1\r\n:5\r\n",
        b"*2\r\n$1\r\na\r\n$1\r\nb\r\n",
        b"*-1\r\n",
        b"*1\r\n*1\r\n$1\r\na\r\n",
        b">2\r\n$7\r\nmessage\r\n$1\r\na\r\n",
        b">0\r\n",
        b"%1\r\n$1\r\na\r\n$1\r\nb\r\n",
        b"$99999999999999\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x00" * 100,
    ],
)
def test_any_reply_at_all_is_a_miss(caplog: pytest.LogCaptureFixture, says: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65536):
            writer.write(says)
        writer.close()

    async def use() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        for login in ("", ":hunter2@"):
            async with caching(f"redis://{login}127.0.0.1:{port}/0", budget_s=BUDGET_S) as cache:
                for _ in range(FAILURES):
                    assert (await look(cache, "key 1"))[0] not in ("hit", "absent")
                    await remember(cache, "key 1")
        server.close()

    asyncio.run(use())
    assert "hunter2" not in caplog.text


def test_damaged_and_swapped_values_are_told_apart_and_written_anew(redis_server: RedisServer) -> None:
    async def use() -> None:
        async with caching(redis_server.url) as cache, Redis.from_url(redis_server.url) as redis:
            await remember(cache, *KEYS[:4])
            await redis.setrange(PREFIX + "key 1", 200, b"\xff\xff")
            await redis.set(PREFIX + "key 2", pack("key 3", ENTRIES["key 3"]))
            await redis.delete(PREFIX + "key 0")
            await redis.lpush(PREFIX + "key 0", "a list")
            assert await look(cache, *KEYS[:4]) == ["absent", "corrupt", "swapped", "hit"]
            await remember(cache, *KEYS[:4])
            assert await look(cache, *KEYS[:4]) == ["hit"] * 4

    asyncio.run(use())


def test_a_swapped_value_drops_its_connection_and_no_other(redis_server: RedisServer) -> None:
    async def ids(redis: Redis) -> set[str]:
        return {client["id"] for client in await redis.client_list() if client["cmd"] == "mget"}

    async def use() -> None:
        async with caching(redis_server.url) as cache, Redis.from_url(redis_server.url) as redis:
            await redis.set(PREFIX + "key 2", pack("key 3", ENTRIES["key 3"]))
            await cache.get_many(["key 1"])
            before = await ids(redis)
            await cache.get_many(["key 1"])
            assert await ids(redis) == before, "a sound answer keeps it"
            assert await cache.get_many(["key 2"]) == ["swapped"]
            assert not await ids(redis)
            assert await cache.get_many(["key 1"]) == ["absent"]

    asyncio.run(use())


def test_a_cancelled_call_leaves_no_reply_to_the_next(redis_server: RedisServer) -> None:
    """Each call is cancelled while its reply is under way, and another key is looked up at once."""

    async def use() -> None:
        async with lying_to(redis_server, Faults(delay_s=0.01)) as cache:
            for first, second in pairwise(KEYS[:80]):
                cancelled = asyncio.create_task(cache.get_many([first]))
                await asyncio.sleep(random.Random(first).random() * 0.01)
                cancelled.cancel()
                await asyncio.gather(cancelled, return_exceptions=True)
                (found,) = await cache.get_many([second])
                assert isinstance(found, TokenEmbeddings), found
                require_own(second, found)

    asyncio.run(use())


async def storm(cache: RedisCache, operations: int, rng: random.Random) -> Counter[str]:
    """Concurrent lookups and writes, a third of them cancelled at random moments; the outcomes of the others."""
    outcomes: Counter[str] = Counter()

    async def one() -> None:
        keys = rng.sample(KEYS, rng.randint(1, 8))
        call = asyncio.create_task(_looked(cache, keys) if rng.random() < 0.7 else _written(cache, keys))
        if rng.random() < 0.33:
            await asyncio.sleep(rng.random() * 0.01)
            call.cancel()
        result = (await asyncio.gather(call, return_exceptions=True))[0]
        if isinstance(result, asyncio.CancelledError):
            outcomes["cancelled"] += 1
        elif isinstance(result, BaseException):
            raise result
        else:
            outcomes.update(result)

    async def caller() -> None:
        for _ in range(operations // 20):
            await one()

    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(caller())
    return outcomes


async def _looked(cache: RedisCache, keys: list[str]) -> list[str]:
    return await look(cache, *keys)


async def _written(cache: RedisCache, keys: list[str]) -> list[str]:
    await remember(cache, *keys)
    return []


@pytest.mark.parametrize(
    ("faults", "seen"),
    [
        (Faults(delay_s=0.004), ["hit"]),
        (Faults(delay_s=0.004, repeat=0.1), ["hit", "swapped"]),
        (Faults(delay_s=0.004, repeat=0.05, corrupt=0.05, close=0.05), ["hit", "swapped", "corrupt", "unreachable"]),
    ],
    ids=["slow", "repeating", "everything"],
)
def test_no_text_ever_gets_the_vector_of_another(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch, faults: Faults, seen: list[str]
) -> None:
    """Through a proxy that lies, with callers that leave: each hit has the bits of its key, each call ends in time."""
    monkeypatch.setattr("service.caches.redis.FAILURES", 10**9)  # resting would hide what is looked for

    async def use() -> Counter[str]:
        async with lying_to(redis_server, faults, 5 * BUDGET_S) as cache:
            return await storm(cache, 2000, random.Random(2))

    outcomes = asyncio.run(use())
    assert outcomes["cancelled"] > 200
    assert outcomes["hit"] > 1000
    assert all(outcomes[reason] for reason in seen), outcomes
