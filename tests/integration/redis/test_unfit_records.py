"""Intact records of the shared cache whose numbers cannot be those of the text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from redis.asyncio import Redis

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.service.caches.record import pack, unpack
from semblance.service.caches.redis import PREFIX
from semblance.service.observability.metrics import Metrics
from semblance.service.usecases.text_embedder import InputText, TextEmbedder
from tests.integration.redis.checked_lookups import caching
from tests.service.usecases.test_embed import RecordingEmbedder
from tests.support.servers.redis_server import RedisServer
from tests.support.small_model import load, write_glove
from tests.support.vectors import bits


def with_number(embeddings: TokenEmbeddings, number: float) -> TokenEmbeddings:
    """The same with another last number of the vectors and of the pooled vector."""
    changed = [None if each is None else each.copy() for each in (embeddings.vectors, embeddings.pooled_vector)]
    for each in changed:
        if each is not None and each.size:
            each.flat[-1] = number
    vectors, pooled = changed
    assert vectors is not None
    return replace(embeddings, vectors=vectors, pooled_vector=pooled)


def narrower(embeddings: TokenEmbeddings) -> TokenEmbeddings:
    """The same without the last dimension."""
    pooled = embeddings.pooled_vector
    return replace(
        embeddings, vectors=embeddings.vectors[:, :-1], pooled_vector=None if pooled is None else pooled[:-1]
    )


def longer(embeddings: TokenEmbeddings) -> TokenEmbeddings:
    """The same with the last token twice."""
    vectors, weights = embeddings.vectors, embeddings.weights
    return replace(embeddings, vectors=np.vstack([vectors, vectors[-1:]]), weights=np.append(weights, weights[-1:]))


@pytest.mark.parametrize("want", get_args(Want))
@pytest.mark.parametrize(
    "change",
    [
        lambda embeddings: with_number(embeddings, float("nan")),
        lambda embeddings: with_number(embeddings, float("inf")),
        lambda embeddings: replace(embeddings, weights=embeddings.weights * np.float32("nan")),
        narrower,
        longer,
        lambda embeddings: replace(embeddings, vectors=embeddings.vectors[:0], pooled_vector=None),
    ],
    ids=["NaN", "infinity", "NaN weights", "narrower", "longer", "nothing"],
)
async def test_unfit_records_count_as_corrupt_and_are_replaced(
    want: Want,
    change: Callable[[TokenEmbeddings], TokenEmbeddings],
    redis_server: RedisServer,
    tmp_path: Path,
) -> None:
    encoder = load(write_glove(tmp_path / "glove.txt", ["two", "cats"]))
    metrics, recorded = Metrics(), RecordingEmbedder()
    async with caching(redis_server.url) as cache, Redis.from_url(redis_server.url) as redis:
        texts = TextEmbedder(recorded, cache, metrics, max_text_chars=100)

        async def embed() -> tuple[object, ...]:
            [embeddings] = (await texts.embed(encoder, [InputText("two cats", "/0")], "query", want)).embeddings
            return bits(embeddings)

        first = await embed()
        [key] = await redis.keys()
        record = await redis.get(key)
        assert isinstance(key, bytes)
        assert isinstance(record, bytes)
        name = key.decode().removeprefix(PREFIX)
        await redis.set(key, pack(name, change(unpack(name, record))))
        assert [await embed(), await embed()] == [first, first]
    outcomes = {
        outcome: metrics.registry.get_sample_value("semblance_cache_lookups_total", {"outcome": outcome})
        for outcome in ("absent", "corrupt", "hit")
    }
    assert outcomes == {"absent": 1, "corrupt": 1, "hit": 1}
    assert recorded.encoded == ["two cats"] * 2
