"""Through the cache or not, everybody hears the same of their texts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.embeddings import TokenEmbeddings, Want
from semblance.models.encoders.transformer import Transformer
from semblance.models.protocols import Encoder
from semblance.models.text import Role, TokenizedText, Truncate
from semblance.service.caches.memory import MemoryCache
from semblance.service.caches.none import NoCache
from semblance.service.errors import InvalidRequest, Problem
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.embedding import EmbeddingCache, Miss
from semblance.service.usecases.embed_texts import EmbeddedTexts, Given, TextEmbedder
from tests.support.small_model import load, write_glove

LONG = "word " * 600
TEXTS = ["a cat", "two cats", LONG, "héllo", "1", "", " ", "\u200b", "\ud800", "a\ud800b"]


class Counting:
    """Encodes in this thread, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.tokenized: list[str] = []
        self.encoded: list[str] = []

    async def tokenize(
        self, encoder: Encoder, texts: Sequence[str], role: Role, truncate: Truncate
    ) -> list[TokenizedText]:
        self.tokenized += texts
        return encoder.tokenize(texts, role, truncate)

    async def encode(
        self, encoder: Encoder, tokenized: Sequence[TokenizedText], want: Want, *, bulk: bool = False
    ) -> list[TokenEmbeddings]:
        del bulk
        self.encoded += [text.text for text in tokenized]
        return encoder.encode(tokenized, want)


class Bare(MemoryCache):
    """Keeps vectors only, as Redis does."""

    async def set_many(self, entries: Mapping[str, TokenEmbeddings]) -> None:
        await super().set_many({key: replace(entry, text=None) for key, entry in entries.items()})


class OutOfReach(MemoryCache):
    """Does not answer."""

    async def get_many(self, keys: Sequence[str]) -> list[TokenEmbeddings | Miss]:
        return ["timeout"] * len(keys)


def embedder(cache: EmbeddingCache) -> tuple[TextEmbedder, Counting]:
    counting = Counting()
    return TextEmbedder(counting, cache, Metrics(), max_text_chars=5000), counting


def asked(texts: Sequence[str]) -> list[Given]:
    return [Given(text, f"/input/{i}") for i, text in enumerate(texts)]


async def said(
    made_by: TextEmbedder, encoder: Encoder, texts: Sequence[str], truncate: Truncate
) -> EmbeddedTexts | Sequence[Problem]:
    try:
        return await made_by.embed(encoder, asked(texts), "query", "tokens", truncate)
    except InvalidRequest as error:
        return error.problems


def alike(one: EmbeddedTexts | Sequence[Problem], other: EmbeddedTexts | Sequence[Problem]) -> bool:
    if not (isinstance(one, EmbeddedTexts) and isinstance(other, EmbeddedTexts)):
        return one == other
    told = (one.tokens, list(one.truncated)) == (other.tokens, list(other.truncated))
    return told and all(
        a.text is not None
        and b.text is not None
        and a.text.text == b.text.text
        and np.array_equal(a.text.spans, b.text.spans)
        and np.allclose(a.vectors, b.vectors, atol=1e-5)
        for a, b in zip(one.embeddings, other.embeddings, strict=True)
    )


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    """A model that takes no time."""
    file = write_glove(tmp_path_factory.mktemp("words") / "glove.txt", ["a", "two", "cat", "cats", "word", "1"])
    encoder = load(file)
    assert len(LONG.split()) > encoder.max_tokens
    return encoder


requests = st.lists(
    st.tuples(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4), st.sampled_from(["END", "START", "NONE"])),
    max_size=4,
)


@given(requests, st.sampled_from(["memory", "bare", "out of reach"]))
def test_a_cache_changes_no_answer(words: Encoder, history: list[tuple[list[str], Truncate]], kind: str) -> None:
    async def use() -> None:
        caches = {"memory": MemoryCache(10**8), "bare": Bare(10**8), "out of reach": OutOfReach(10**8)}
        cached, uncached = embedder(caches[kind])[0], embedder(NoCache())[0]
        for texts, truncate in history:
            with_cache, without = [await said(each, words, texts, truncate) for each in (cached, uncached)]
            assert alike(with_cache, without), (texts, truncate, with_cache, without)

    asyncio.run(use())


@pytest.mark.parametrize(("cache", "tokenised_again"), [(MemoryCache(10**8), []), (Bare(10**8), ["a cat"])])
def test_what_the_cache_knows_is_not_encoded_and_tokenised_only_where_its_tokens_were_not_kept(
    minilm: Transformer, cache: EmbeddingCache, tokenised_again: list[str]
) -> None:
    async def use() -> None:
        texts, counting = embedder(cache)
        first = await texts.embed(minilm, asked(["a cat", "a cat"]), "query", "pooled")
        assert (counting.tokenized, counting.encoded) == (["a cat"], ["a cat"])
        counting.tokenized.clear()
        again = await texts.embed(minilm, asked(["a cat", "two"]), "query", "pooled")
        assert counting.encoded == ["a cat", "two"]
        assert counting.tokenized == [*tokenised_again, "two"]
        assert np.array_equal(first.embeddings[0].pooled(), again.embeddings[0].pooled())
        assert first.tokens == 2 * len(minilm.tokenize(["a cat"], "query", "END")[0])

    asyncio.run(use())


def test_background_work_takes_from_the_cache_and_leaves_nothing_there(minilm: Transformer) -> None:
    async def use() -> None:
        texts, counting = embedder(MemoryCache(10**8))
        await texts.embed(minilm, asked(["a cat"]), "query", "pooled")
        for _ in range(2):
            counting.encoded.clear()
            await texts.embed(minilm, asked(["a cat", "two"]), "query", "pooled", bulk=True)
            assert counting.encoded == ["two"]

    asyncio.run(use())


def test_a_bad_text_beside_cached_ones_is_named_by_its_own_place(minilm: Transformer) -> None:
    async def use() -> Sequence[Problem]:
        texts, _ = embedder(MemoryCache(10**8))
        await texts.embed(minilm, asked(["a cat"]), "query", "pooled")
        with pytest.raises(InvalidRequest) as refused:
            await texts.embed(minilm, asked(["a cat", " ", "new", " "]), "query", "pooled")
        return refused.value.problems

    assert [(each.pointer, each.code) for each in asyncio.run(use())] == [
        ("/input/1", "empty_text"),
        ("/input/3", "empty_text"),
    ]
