"""Contract of every embedding cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest

from semblance.models.embeddings import TokenEmbeddings
from semblance.service.caches.memory import ENTRY_BYTES, MemoryCache
from semblance.service.caches.redis import RedisCache, RedisLimits
from semblance.service.ports.embedding import EmbeddingCache
from tests.support.servers.redis_server import RedisServer
from tests.support.vectors import bits

Make: TypeAlias = Callable[[], EmbeddingCache]


@pytest.fixture(params=["memory", "redis"])
def make(request: pytest.FixtureRequest) -> Make:
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        limits = RedisLimits(ttl_s=3600, budget_s=3600, value_bytes=100_000)
        return lambda: RedisCache(server.url, limits)
    return lambda: MemoryCache(1_000_000)


def entry(seed: int, n: int = 3) -> TokenEmbeddings:
    rng = np.random.default_rng(seed)
    vectors, weights = rng.normal(size=(n, 4)).astype(np.float32), rng.random(n, np.float32)
    return TokenEmbeddings(vectors, weights, pooled_vector=weights + 1 if seed % 2 else None, mean_pooled=seed % 3 > 0)


async def test_stored_embeddings_come_back_bit_for_bit(make: Make) -> None:
    cache = make()
    entries = {f"k{i}": entry(i) for i in range(150)}  # more than one page
    assert await cache.get_many(list(entries)) == ["absent"] * 150
    await cache.set_many(entries)
    for (key, expected), found in zip(entries.items(), await cache.get_many(list(entries)), strict=True):
        assert isinstance(found, TokenEmbeddings)
        assert bits(found) == bits(expected), key
    assert await cache.get_many([]) == []
    await cache.set_many({})
    assert await cache.ping()
    await cache.close()


async def test_results_follow_the_keys_and_the_last_write_wins(make: Make) -> None:
    cache = make()
    await cache.set_many({"a": entry(1), "b": entry(2)})
    await cache.set_many({"a": entry(3)})
    first, unknown, *others = await cache.get_many(["b", "unknown", "a", "b"])
    assert unknown == "absent"
    for found, seed in zip([first, *others], [2, 3, 2], strict=True):
        assert isinstance(found, TokenEmbeddings)
        assert bits(found) == bits(entry(seed))
    await cache.close()


async def test_memory_evicts_the_least_recently_used() -> None:
    size = entry(0).nbytes + ENTRY_BYTES
    cache = MemoryCache(3 * size)
    await cache.set_many({key: entry(2 * i) for i, key in enumerate("abc")})
    await cache.get_many(["a"])
    await cache.set_many({"d": entry(8)})
    found = await cache.get_many(list("abcd"))
    assert [isinstance(each, TokenEmbeddings) for each in found] == [True, False, True, True]


@pytest.mark.parametrize("max_bytes", [0, ENTRY_BYTES + 10])
async def test_memory_does_not_store_entries_above_its_size(max_bytes: int) -> None:
    cache = MemoryCache(max_bytes)
    await cache.set_many({"large": entry(0, n=100)})
    assert await cache.get_many(["large", "large"]) == ["absent"] * 2
