"""The laws of every embedding cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np
import pytest

from models.embeddings import TokenEmbeddings
from service.caches.memory import ENTRY_BYTES, MemoryCache
from service.caches.none import NoCache
from service.ports import EmbeddingCache

CACHES: dict[str, Callable[[], EmbeddingCache]] = {"memory": lambda: MemoryCache(100_000), "none": NoCache}


def entry(seed: int, n: int = 3) -> TokenEmbeddings:
    vectors = np.random.default_rng(seed).normal(size=(n, 4)).astype(np.float32)
    return TokenEmbeddings(vectors, np.ones(n, np.float32))


@pytest.mark.parametrize("make", CACHES.values(), ids=CACHES)
def test_what_comes_back_is_what_was_set_or_nothing(make: Callable[[], EmbeddingCache]) -> None:
    async def use() -> None:
        cache = make()
        entries = {f"k{i}": entry(i) for i in range(50)}
        assert await cache.get_many(list(entries)) == [None] * 50
        await cache.set_many(entries)
        for (key, expected), found in zip(entries.items(), await cache.get_many(list(entries)), strict=True):
            assert found is None or np.array_equal(found.vectors, expected.vectors), key
        assert await cache.get_many([]) == []
        assert await cache.ping()
        await cache.close()

    asyncio.run(use())


def test_memory_remembers_within_its_bytes_and_forgets_the_least_recently_used() -> None:
    async def use() -> None:
        size = entry(0).nbytes + ENTRY_BYTES
        cache = MemoryCache(3 * size)
        await cache.set_many({key: entry(i) for i, key in enumerate("abc")})
        await cache.get_many(["a"])
        await cache.set_many({"d": entry(9)})
        found = await cache.get_many(list("abcd"))
        assert [each is not None for each in found] == [True, False, True, True]

    asyncio.run(use())


def test_memory_does_not_keep_what_is_larger_than_all_of_it() -> None:
    async def use() -> None:
        cache = MemoryCache(ENTRY_BYTES + 10)
        await cache.set_many({"large": entry(0, n=100)})
        assert await cache.get_many(["large"]) == [None]

    asyncio.run(use())
