"""The Redis cache with damaged, swapped and delayed replies: no text gets a wrong vector."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from itertools import pairwise

import pytest
from redis.asyncio import Redis

from semblance.service.caches.record import pack
from semblance.service.caches.redis import FAILURES, PREFIX, RedisCache
from tests.integration.redis.checked_lookups import (
    BUDGET_S,
    ENTRIES,
    KEYS,
    LONG_BUDGET_S,
    behind_faults,
    caching,
    look_up,
    store,
)
from tests.integration.redis.faulty_proxy import Faults
from tests.support.servers.redis_server import RedisServer
from tests.support.waiting import eventually

pytestmark = pytest.mark.waits


@pytest.mark.parametrize(
    "reply",
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
async def test_any_invalid_reply_is_a_miss(caplog: pytest.LogCaptureFixture, reply: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionResetError):  # the cache leaves with replies unread
            while await reader.read(65536):
                writer.write(reply)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    for login in ("", ":hunter2@"):
        async with caching(f"redis://{login}127.0.0.1:{port}/0", budget_s=BUDGET_S) as cache:
            for _ in range(FAILURES):
                assert (await look_up(cache, "key 1"))[0] not in ("hit", "absent")
                await store(cache, "key 1")
    server.close()
    assert "hunter2" not in caplog.text


async def test_damaged_and_swapped_values_are_distinguished_and_overwritten(redis_server: RedisServer) -> None:
    async with caching(redis_server.url) as cache, Redis.from_url(redis_server.url) as redis:
        await store(cache, *KEYS[:4])
        await redis.setrange(PREFIX + "key 1", 200, b"\xff\xff")
        await redis.set(PREFIX + "key 2", pack("key 3", ENTRIES["key 3"]))
        await redis.delete(PREFIX + "key 0")
        await redis.lpush(PREFIX + "key 0", "a list")
        assert await look_up(cache, *KEYS[:4]) == ["absent", "corrupt", "swapped", "hit"]
        await store(cache, *KEYS[:4])
        assert await look_up(cache, *KEYS[:4]) == ["hit"] * 4


async def test_a_swapped_value_closes_only_its_connection(redis_server: RedisServer) -> None:
    async def ids(redis: Redis) -> set[str]:
        return {client["id"] for client in await redis.client_list() if client["cmd"] == "mget"}

    async with caching(redis_server.url) as cache, Redis.from_url(redis_server.url) as redis:
        await redis.set(PREFIX + "key 2", pack("key 3", ENTRIES["key 3"]))
        await cache.get_many(["key 1"])
        before = await ids(redis)
        await cache.get_many(["key 1"])
        assert await ids(redis) == before, "a valid reply keeps it open"
        assert await cache.get_many(["key 2"]) == ["swapped"]
        assert not await ids(redis)
        assert await cache.get_many(["key 1"]) == ["absent"]


async def test_the_reply_of_a_cancelled_call_is_never_read(redis_server: RedisServer) -> None:
    """Each call is cancelled while its reply is in flight, and another key is looked up at once."""
    faults = Faults()
    async with behind_faults(redis_server, faults) as cache, Redis.from_url(redis_server.url) as redis:

        async def lookups() -> int:
            return int((await redis.info("commandstats")).get("cmdstat_mget", {}).get("calls", 0))

        for first, second in pairwise(KEYS[:5]):
            faults.passing.clear()
            cancelled = asyncio.create_task(cache.get_many([first]))
            await faults.holding.wait()
            cancelled.cancel()
            await asyncio.gather(cancelled, return_exceptions=True)
            known = await lookups()
            other = asyncio.create_task(look_up(cache, second))
            await eventually(partial(_exceeds, lookups, known), "the second lookup at the server")
            faults.passing.set()
            faults.holding.clear()
            assert await other == ["hit"]


async def _exceeds(count: Callable[[], Awaitable[int]], known: int) -> bool:
    return await count() > known


async def storm(cache: RedisCache, operations: int, rng: random.Random) -> Counter[str]:
    """Run concurrent lookups and writes, and cancel a third; outcomes of the others."""
    outcomes: Counter[str] = Counter()

    async def one() -> None:
        keys = rng.sample(KEYS, rng.randint(1, 8))
        call = asyncio.create_task((look_up if rng.random() < 0.7 else store)(cache, *keys))
        if rng.random() < 0.33:
            await asyncio.sleep(rng.random() * 0.01)  # any moment will do
            call.cancel()
        try:
            outcomes.update(await call or ())
        except asyncio.CancelledError:
            outcomes["cancelled"] += 1

    async def caller() -> None:
        for _ in range(operations // 20):
            await one()

    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(caller())
    return outcomes


@pytest.mark.parametrize(
    ("faults", "budget_s", "expected"),
    [
        (Faults(delay_s=0.004), LONG_BUDGET_S, {"hit"}),
        (Faults(delay_s=0.004, repeat=0.1), LONG_BUDGET_S, {"hit", "swapped"}),
        # a damaged length makes the cache wait for more, until the budget ends
        (
            Faults(delay_s=0.004, repeat=0.05, corrupt=0.05, close=0.05),
            BUDGET_S,
            {"hit", "swapped", "corrupt", "unreachable"},
        ),
    ],
    ids=["slow", "repeating", "everything"],
)
async def test_no_text_gets_the_vector_of_another(
    redis_server: RedisServer,
    monkeypatch: pytest.MonkeyPatch,
    faults: Faults,
    budget_s: float,
    expected: set[str],
) -> None:
    """Despite a faulty proxy and cancelled callers, hits are right and calls end."""
    monkeypatch.setattr("semblance.service.caches.redis.FAILURES", 10**9)  # an open circuit would hide faults
    outcomes, rng = Counter[str](), random.Random(2)
    async with behind_faults(redis_server, faults, budget_s) as cache:

        async def all_happened() -> bool:
            outcomes.update(await storm(cache, 500, rng))
            return outcomes.keys() >= expected | {"cancelled"}

        await eventually(all_happened, f"{expected}, in {outcomes}")
    assert "swapped" in expected or outcomes.keys() == {"hit", "cancelled"}, "nothing but delays"
