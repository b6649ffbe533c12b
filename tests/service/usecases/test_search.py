"""A search of many candidates, and one while its documents are being rewritten."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from semblance.models.embeddings import Floats, TokenEmbeddings, unit_rows
from semblance.models.encoders.transformer import Transformer
from semblance.models.measures.quantized_tokens import decode_tokens, encode_tokens
from semblance.service.batching.policy import Limits
from semblance.service.batching.worker import Worker
from semblance.service.caches.none import NoCache
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.documents.sqlite import sqlite_engine
from semblance.service.errors import WriteConflict
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.model_loading.registry import LazyModels, read_served
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.documents import Collection, CollectionSettings, Document, Embedded, TokenStorage, Write
from semblance.service.replication.local_node import LocalCollections
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.embed_texts import Given, TextEmbedder
from semblance.service.usecases.measures import measure
from semblance.service.usecases.search import ATTEMPTS, Search, SearchFor
from tests.conftest import built_in_checkpoint
from tests.support.drawn_vectors import drawn


class Intruded(SqlDocumentStore):
    """Writes once between the look into the index and the look for the documents."""

    intrusion: Callable[[], None] | None = None

    def get_at(self, name: str, ids: Sequence[str]) -> tuple[Collection, dict[str, Document]]:
        if self.intrusion is not None:
            intrude, self.intrusion = self.intrusion, None
            intrude()
        return super().get_at(name, ids)


@pytest.fixture
def store(tmp_path: Path) -> Intruded:
    return Intruded(sqlite_engine(tmp_path / "documents.sqlite"))


@asynccontextmanager
async def searching(
    store: SqlDocumentStore, minilm: Transformer, folder: Path
) -> AsyncIterator[tuple[Search, LocalCollections, TextEmbedder]]:
    """Searches in the collections of `store`, the way into them, and what embeds texts."""
    metrics = Metrics()
    worker = Worker(Limits(4096, 10_000, 10_000), metrics, idle_check_s=60)
    local = LocalCollections(store, IndexFolder(folder / "indexes"))
    served = LazyModels(read_served("minilm"), lambda *_: minilm, 30)
    texts = TextEmbedder(worker, NoCache(), metrics, 1000)
    yield Search(Collections(served, local), local, texts, max_scores=10_000), local, texts
    local.close()
    await asyncio.to_thread(worker.stop)


def settings(encoder: Transformer, tokens: TokenStorage = "none") -> CollectionSettings:
    return CollectionSettings("minilm", encoder.space, encoder.dim, "cosine", "exact", tokens)


def test_a_hit_never_shows_one_text_with_the_score_of_another(
    store: Intruded, minilm: Transformer, tmp_path: Path
) -> None:
    async def use() -> None:
        async with searching(store, minilm, tmp_path) as (search, local, texts):
            embedded = await texts.embed(minilm, [Given("a cat", ""), Given("tax law", "")], "query", "pooled")
            vectors = [unit_rows(each.pooled()).astype(np.float32) for each in embedded.embeddings]

            def write(text: str, vector: int) -> None:
                embedded = Embedded(vectors[vector], truncated=False)
                store.upsert(store.collection("c"), [Write(Document("d", text, {}), embedded)])

            store.create("c", settings(minilm))
            write("a cat", 0)
            await local.follow("c")
            store.intrusion = lambda: write("tax law", 1)
            results = await search(SearchFor([Given("a cat", "/query")], "c", k=1, candidates=1, measure=None))
            hit = results.hits[0][0]
            assert hit.document.text == "tax law"
            assert hit.score == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-6)
            assert results.version == store.collection("c").version

    asyncio.run(use())


def test_a_document_that_is_rewritten_whenever_it_is_found_is_left_out(
    store: Intruded, minilm: Transformer, tmp_path: Path
) -> None:
    async def use() -> None:
        async with searching(store, minilm, tmp_path) as (search, local, _):

            def write(doc_id: str, seed: int) -> None:
                embedded = Embedded(drawn(seed, minilm.dim), truncated=False)
                store.upsert(store.collection("c"), [Write(Document(doc_id, str(seed), {}), embedded)])

            written = count(2)

            def rewrite() -> None:
                write("busy", next(written))
                store.intrusion = rewrite

            store.create("c", settings(minilm))
            write("calm", 0)
            write("busy", 1)
            await local.follow("c")
            store.intrusion = rewrite
            results = await search(SearchFor([Given("a cat", "/query")], "c", k=2, candidates=2, measure=None))
            assert [hit.document.id for hit in results.hits[0]] == ["calm"]
            assert next(written) == 2 + ATTEMPTS

    asyncio.run(use())


@pytest.mark.parametrize("again", [1, 99])
def test_a_search_never_mixes_two_lives_of_a_collection(
    store: Intruded, minilm: Transformer, tmp_path: Path, again: int
) -> None:
    """Not even where the new life has the same ids and fewer writes behind it."""

    async def use() -> None:
        async with searching(store, minilm, tmp_path) as (search, local, texts):
            embedded = await texts.embed(minilm, [Given("a cat", ""), Given("tax law", "")], "query", "pooled")
            cat, law = [unit_rows(each.pooled()).astype(np.float32) for each in embedded.embeddings]

            def fill(text: str, vector: Floats) -> None:
                store.create("c", settings(minilm))
                for _ in range(3):
                    store.upsert(store.collection("c"), [Write(Document("d", text, {}), Embedded(vector, False))])

            def make_anew() -> None:
                nonlocal again
                again -= 1
                store.drop("c")
                fill("tax law", law)
                store.intrusion = make_anew if again else None

            fill("a cat", cat)
            await local.follow("c")
            store.intrusion = make_anew
            request = SearchFor([Given("a cat", "/query")], "c", k=1, candidates=1, measure=None)
            if again > ATTEMPTS:
                with pytest.raises(WriteConflict):
                    await search(request)
            else:
                results = await search(request)
                assert results.hits[0][0].document.text == "tax law"
                assert results.hits[0][0].score == pytest.approx(float(cat @ law), abs=1e-6)
                assert results.version == store.collection("c").version

    asyncio.run(use())


def tokens_drawn(seed: int, count: int, dim: int) -> TokenEmbeddings:
    """Tokens that a number stands for."""
    vectors = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    return TokenEmbeddings(vectors, np.ones(count, np.float32))


def test_candidates_are_scored_as_if_at_once_but_held_a_few_at_a_time(
    store: SqlDocumentStore, minilm: Transformer, tmp_path: Path
) -> None:
    many, length = 1000, 64
    store.create("c", settings(minilm, "int8"))
    codes = [encode_tokens(tokens_drawn(i, length + i % 3, minilm.dim))[0] for i in range(many)]
    writes = [
        Write(Document(f"d{i}", "", {}), Embedded(drawn(i, minilm.dim), truncated=False, codes=codes[i]))
        for i in range(many)
    ]
    store.upsert(store.collection("c"), writes)

    async def use() -> None:
        async with searching(store, minilm, tmp_path) as (search, local, texts):
            given = Given("a cat sleeps", "/query")
            (query,) = (await texts.embed(minilm, [given], "query", "tokens")).embeddings
            await local.follow("c")
            tracemalloc.start()
            results = await search(SearchFor([given], "c", k=many, candidates=many, measure="rcmd"))
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert results.scored_from == "token_codes"
            assert peak < many * length * minilm.dim * 4 / 3, "far less than the tokens of all candidates"
            at_once = measure("rcmd").score_many(query, [decode_tokens(each) for each in codes])
            found = {hit.document.id: hit.score for hit in results.hits[0]}
            assert found == pytest.approx({f"d{i}": score for i, score in enumerate(at_once)}, abs=1e-6)
            assert list(found.values()) == sorted(found.values(), reverse=True)

    asyncio.run(use())


def test_a_distance_is_of_the_vectors_at_their_own_length(store: SqlDocumentStore, tmp_path: Path) -> None:
    """An index keeps directions: with a model that leaves its vectors long, what it holds is not what is compared."""
    long = Transformer("minilm", replace(built_in_checkpoint(), normalize=False))
    texts = ["a cat sleeps", "the dog of my neighbour barks all night long", "tax law"]

    async def use() -> None:
        async with searching(store, long, tmp_path) as (search, local, embedder):
            store.create("c", settings(long))
            given = [Given(text, "") for text in texts]
            made = (await embedder.embed(long, given, "document", "pooled")).embeddings
            store.upsert(
                store.collection("c"),
                [
                    Write(Document(text, text, {}), Embedded(unit_rows(each.pooled()).astype(np.float32), False))
                    for text, each in zip(texts, made, strict=True)
                ],
            )
            await local.follow("c")
            query = (await embedder.embed(long, given[:1], "query", "pooled")).embeddings[0].pooled()
            results = await search(SearchFor(given[:1], "c", k=3, candidates=3, measure="negative_euclidean"))
            found = {hit.document.text: hit.score for hit in results.hits[0]}
            right = [-float(np.linalg.norm(query - each.pooled())) for each in made]
            assert found == pytest.approx(dict(zip(texts, right, strict=True)), abs=1e-4)
            assert min(right) < -2, "further apart than any two vectors of unit length"
            assert results.scored_from == "encoder"

    asyncio.run(use())
