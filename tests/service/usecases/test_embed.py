"""Embeddings are the same with and without a cache, and texts are encoded only on a miss."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.encoders.transformer import Transformer
from semblance.models.protocols import Encoder
from semblance.models.text import Role, TokenizedText, Truncate
from semblance.service.caches.memory import MemoryCache
from semblance.service.errors import InvalidRequest, Problem
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.embedding import EmbeddingCache, Miss
from semblance.service.usecases.text_embedder import InputText, TextEmbedder, TextEmbeddings, Truncation
from tests.support.small_model import load, write_glove

LONG = "two " + "word " * 600 + "cats"
TEXTS = ["a cat", "two cats", LONG, "héllo", "1", "", " ", "\u200b", "\ud800", "a\ud800b"]


class RecordingEmbedder:
    """Encodes in this thread, and records the texts; those of background work twice."""

    def __init__(self) -> None:
        self.max_request_tokens = 1 << 18
        self.tokenized: list[str] = []
        self.encoded: list[str] = []
        self.background: list[str] = []

    async def tokenize(
        self, encoder: Encoder, texts: Sequence[str], role: Role, truncate: Truncate
    ) -> list[TokenizedText]:
        self.tokenized += texts
        return encoder.tokenize(texts, role, truncate)

    async def encode(
        self, encoder: Encoder, tokenized: Sequence[TokenizedText], want: Want, *, bulk: bool = False
    ) -> list[TokenEmbeddings]:
        self.encoded += [text.text for text in tokenized]
        self.background += [text.text for text in tokenized if bulk]
        return encoder.encode(tokenized, want)


class VectorsOnly(MemoryCache):
    """Stores vectors without tokens, as Redis does."""

    async def set_many(self, entries: Mapping[str, TokenEmbeddings]) -> None:
        await super().set_many({key: replace(entry, text=None) for key, entry in entries.items()})


class Unreachable(MemoryCache):
    """Never answers in time."""

    async def get_many(self, keys: Sequence[str]) -> list[TokenEmbeddings | Miss]:
        return ["timeout"] * len(keys)


def embedder(cache: EmbeddingCache) -> tuple[TextEmbedder, RecordingEmbedder]:
    recorded = RecordingEmbedder()
    return TextEmbedder(recorded, cache, Metrics(), max_text_chars=5000), recorded


def inputs(texts: Sequence[str]) -> list[InputText]:
    return [InputText(text, f"/input/{i}") for i, text in enumerate(texts)]


async def outcome(
    embedder_: TextEmbedder, encoder: Encoder, texts: Sequence[str], truncate: Truncate
) -> TextEmbeddings | Sequence[Problem]:
    try:
        return await embedder_.embed(encoder, inputs(texts), "query", "tokens", Truncation(truncate))
    except InvalidRequest as error:
        return error.problems


def equal_outcomes(one: TextEmbeddings | Sequence[Problem], other: TextEmbeddings | Sequence[Problem]) -> bool:
    if not (isinstance(one, TextEmbeddings) and isinstance(other, TextEmbeddings)):
        return one == other
    same_counts = (one.tokens, list(one.truncated)) == (other.tokens, list(other.truncated))
    return same_counts and all(
        a.text is not None
        and b.text is not None
        and a.text.text == b.text.text
        and np.array_equal(a.text.spans, b.text.spans)
        and np.allclose(a.vectors, b.vectors, atol=1e-5)
        for a, b in zip(one.embeddings, other.embeddings, strict=True)
    )


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    file = write_glove(tmp_path_factory.mktemp("words") / "glove.txt", ["a", "two", "cat", "cats", "word", "1"])
    encoder = load(file)
    assert len(LONG.split()) > encoder.max_tokens
    return encoder


requests = st.lists(
    st.tuples(
        st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4), st.sampled_from(["END", "START", "NONE", "PASSAGES"])
    ),
    max_size=4,
)


@given(requests, st.sampled_from(["memory", "vectors only", "unreachable"]))
@example([([LONG], "END"), ([LONG], "START")], "memory")
@example([([LONG], "END"), ([LONG], "START")], "vectors only")
def test_a_cache_changes_no_answer(words: Encoder, history: list[tuple[list[str], Truncate]], kind: str) -> None:
    async def use() -> None:
        caches = {"memory": MemoryCache(10**8), "vectors only": VectorsOnly(10**8), "unreachable": Unreachable(10**8)}
        cached, uncached = embedder(caches[kind])[0], embedder(MemoryCache(0))[0]
        for texts, truncate in history:
            with_cache, without = [await outcome(each, words, texts, truncate) for each in (cached, uncached)]
            assert equal_outcomes(with_cache, without), (texts, truncate, with_cache, without)

    asyncio.run(use())


@pytest.mark.parametrize(("cache", "tokenized_again"), [(MemoryCache(10**8), []), (VectorsOnly(10**8), ["a cat"])])
async def test_cached_texts_are_tokenized_only_without_cached_tokens(
    minilm: Transformer, cache: EmbeddingCache, tokenized_again: list[str]
) -> None:
    texts, recorded = embedder(cache)
    first = await texts.embed(minilm, inputs(["a cat", "a cat"]), "query", "pooled")
    assert (recorded.tokenized, recorded.encoded) == (["a cat"], ["a cat"])
    recorded.tokenized.clear()
    again = await texts.embed(minilm, inputs(["a cat", "two"]), "query", "pooled")
    assert recorded.encoded == ["a cat", "two"]
    assert recorded.tokenized == [*tokenized_again, "two"]
    assert np.array_equal(first.embeddings[0].pooled(), again.embeddings[0].pooled())
    assert first.tokens == 2 * len(minilm.tokenize(["a cat"], "query", "END")[0])


async def test_background_work_reads_the_cache_but_does_not_fill_it(minilm: Transformer) -> None:
    texts, recorded = embedder(MemoryCache(10**8))
    await texts.embed(minilm, inputs(["a cat"]), "query", "pooled")
    for _ in range(2):
        recorded.encoded.clear()
        await texts.embed(minilm, inputs(["a cat", "two"]), "query", "pooled", bulk=True)
        assert recorded.encoded == ["two"]
