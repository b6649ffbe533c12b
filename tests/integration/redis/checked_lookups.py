"""Lookups in a Redis cache that check every result."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import get_args

import numpy as np

from semblance.models.embeddings import TokenEmbeddings
from semblance.service.caches.redis import RedisCache, RedisLimits
from semblance.service.ports.embedding import Miss
from tests.integration.redis.faulty_proxy import Faults, faulty_proxy
from tests.support.fake_clock import FakeClock
from tests.support.servers.redis_server import RedisServer
from tests.support.vectors import bits

BUDGET_S = 0.1  # of tests in which it runs out
LONG_BUDGET_S = 600.0  # of tests in which it must not
KEYS = [f"key {i}" for i in range(200)]


def entry(key: str) -> TokenEmbeddings:
    """Embeddings in which every number depends on the key."""
    rng = np.random.default_rng(list(key.encode()))
    n = int(rng.integers(1, 30))
    return TokenEmbeddings(rng.normal(size=(n, 16)).astype(np.float32), rng.random(n, np.float32))


ENTRIES = {key: entry(key) for key in KEYS}


def require_own(key: str, found: TokenEmbeddings | Miss) -> None:
    """Require that a hit is bit for bit the value of its key, and any other result a reason."""
    if isinstance(found, TokenEmbeddings):
        assert bits(found) == bits(ENTRIES[key]), key
    else:
        assert found in get_args(Miss)


@asynccontextmanager
async def caching(
    url: str, clock: FakeClock | None = None, budget_s: float = LONG_BUDGET_S
) -> AsyncIterator[RedisCache]:
    limits = RedisLimits(ttl_s=60, budget_s=budget_s, value_bytes=100_000)
    cache = RedisCache(url, limits, clock or FakeClock())
    try:
        yield cache
    finally:
        await cache.close()


@asynccontextmanager
async def behind_faults(
    server: RedisServer, faults: Faults, budget_s: float = LONG_BUDGET_S
) -> AsyncIterator[RedisCache]:
    """A cache behind a faulty proxy; the server contains all entries."""
    async with caching(server.url) as filling:
        await filling.set_many(ENTRIES)
    async with (
        faulty_proxy(server.port, faults) as port,
        caching(f"redis://127.0.0.1:{port}/0", budget_s=budget_s) as cache,
    ):
        yield cache


async def look_up(cache: RedisCache, *keys: str) -> list[str]:
    """Outcomes of a lookup, after checking its hits."""
    found = await cache.get_many(keys)
    for key, each in zip(keys, found, strict=True):
        require_own(key, each)
    return ["hit" if isinstance(each, TokenEmbeddings) else each for each in found]


async def store(cache: RedisCache, *keys: str) -> None:
    await cache.set_many({key: ENTRIES[key] for key in keys})
