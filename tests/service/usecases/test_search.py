"""Searches of many candidates and during writes, the hits that are chosen, and the chunks that are scored."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count, zip_longest
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from semblance_client.vocabulary.collections import TokenStorage
from semblance_client.vocabulary.duplicates import DuplicatesRequest
from semblance_client.vocabulary.prune import Keep
from semblance_client.vocabulary.search import HighlightSizes, Mode, SearchRequest, SearchResults

from semblance.models.alignment.quantized_tokens import dequantize, quantize
from semblance.models.catalogue import similarity
from semblance.models.embeddings import Floats, TokenEmbeddings, unit_rows
from semblance.models.encoders.transformer import Transformer
from semblance.models.selection.kept_sentences import SentenceMatches
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.errors import WriteConflict
from semblance.service.ports.documents import (
    CollectionSettings,
    CutDocuments,
    Document,
    PassageKey,
    Write,
)
from semblance.service.usecases.pruning import hits
from semblance.service.usecases.search.choice import Choice, marginally_relevant
from semblance.service.usecases.search.rescoring import CHUNK, CHUNK_TOKENS, PassageScorer
from semblance.service.usecases.search.results import ScoredPassage, SearchHit
from semblance.service.usecases.search.session import ATTEMPTS
from semblance.service.usecases.text_embedder import InputText
from tests.conftest import built_in_checkpoint
from tests.service.usecases.one_service import OneService, running
from tests.support.random_encoder import RandomEncoder
from tests.support.vectors import one_passage, unit_vector


class InterruptedStore(SqlDocumentStore):
    """Writes once between the search in the index and the read of the documents."""

    interruption: Callable[[], None] | None = None

    def get_cut(self, name: str, ids: Sequence[str]) -> CutDocuments:
        if self.interruption is not None:
            interrupt, self.interruption = self.interruption, None
            interrupt()
        return super().get_cut(name, ids)


@pytest.fixture
def store(tmp_path: Path) -> InterruptedStore:
    return InterruptedStore(sqlite_engine(tmp_path / "documents.sqlite"))


@asynccontextmanager
async def open_search(
    store: SqlDocumentStore, encoder: Transformer, folder: Path, tokens: TokenStorage = "none"
) -> AsyncIterator[OneService]:
    store.create("c", settings(encoder, tokens))
    async with running(OneService(store, folder, encoder)) as service:
        yield service


async def vectors_of(service: OneService, encoder: Transformer, *texts: str) -> list[Floats]:
    embedded = await service.texts.embed(encoder, [InputText(text, "") for text in texts], "query", "pooled")
    return [unit_rows(each.pooled()).astype(np.float32) for each in embedded.embeddings]


def write(store: SqlDocumentStore, doc_id: str, text: str, vector: Floats) -> None:
    store.upsert(store.collection("c"), [Write(Document(doc_id, text, {}), one_passage(vector))])


def asked(text: str, k: int, measure: str | None = None, highlight: HighlightSizes | None = None) -> SearchRequest:
    return SearchRequest(query=text, collection="c", k=k, candidates=k, measure=measure, highlight=highlight)


def keeping(text: str, k: int) -> SearchRequest:
    return SearchRequest(query=text, collection="c", k=k, keep=Keep(share=1))


def settings(encoder: Transformer, tokens: TokenStorage = "none") -> CollectionSettings:
    return CollectionSettings("minilm", encoder.space, encoder.dim, "cosine", "exact", tokens)


def put(store: SqlDocumentStore, texts: Sequence[str], vectors: Iterable[Floats], codes: Iterable[bytes] = ()) -> None:
    """Store documents whose texts are their ids."""
    embedded = [one_passage(each, codes=code) for each, code in zip_longest(vectors, codes)]
    writes = [Write(Document(text, text, {}), each) for text, each in zip(texts, embedded, strict=True)]
    store.upsert(store.collection("c"), writes)


async def test_a_hit_never_has_the_score_of_another_text(
    store: InterruptedStore, minilm: Transformer, tmp_path: Path
) -> None:
    async with open_search(store, minilm, tmp_path) as service:
        vectors = await vectors_of(service, minilm, "a cat", "tax law")
        write(store, "d", "a cat", vectors[0])
        await service.local.refresh_index("c")
        store.interruption = lambda: write(store, "d", "tax law", vectors[1])
        results = await service.search.search(asked("a cat", 1))
        hit = results.hits[0]
        assert hit.text == "tax law"
        assert hit.score == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-6)
        assert results.version == str(store.collection("c").version)


async def test_a_document_rewritten_on_every_attempt_is_left_out(
    store: InterruptedStore, minilm: Transformer, tmp_path: Path
) -> None:
    async with open_search(store, minilm, tmp_path) as service:
        written = count(2)

        def rewrite() -> None:
            number = next(written)
            write(store, "busy", f"text {number}", unit_vector(number, minilm.dim))
            store.interruption = rewrite

        write(store, "calm", "text", unit_vector(0, minilm.dim))
        write(store, "busy", "text", unit_vector(1, minilm.dim))
        await service.local.refresh_index("c")
        store.interruption = rewrite
        assert [hit.id for hit in (await service.search.search(asked("a cat", 2))).hits] == ["calm"]
        assert next(written) == 2 + ATTEMPTS


@pytest.mark.parametrize("mode", ["hybrid", "vector"])
async def test_a_document_with_only_a_new_version_is_found(
    store: InterruptedStore, minilm: Transformer, tmp_path: Path, mode: Mode
) -> None:
    """As a re-embedding gives it, one batch after the other."""
    async with open_search(store, minilm, tmp_path) as service:

        def fill() -> None:
            write(store, "filled", "text", unit_vector(0, minilm.dim))
            store.interruption = fill

        write(store, "filled", "text", unit_vector(0, minilm.dim))
        await service.local.refresh_index("c")
        version = str(store.collection("c").version)
        store.interruption = fill
        request = SearchRequest(query="a cat", collection="c", k=2, mode=mode)
        results = await service.search.search(request)
        assert [hit.id for hit in results.hits] == ["filled"]
        assert results.version == version, "at the first attempt"


@pytest.mark.parametrize("times", [1, 99])
async def test_a_search_never_mixes_two_epochs_of_a_collection(
    store: InterruptedStore, minilm: Transformer, tmp_path: Path, times: int
) -> None:
    """Also where the new epoch has the same ids and fewer writes; a search for duplicates, too."""
    async with open_search(store, minilm, tmp_path) as service:
        [vector] = await vectors_of(service, minilm, "a cat")
        left = times

        def fill(text: str) -> None:
            for doc_id in ("d", "d", "twin"):
                write(store, doc_id, text, vector)

        def recreate() -> None:
            nonlocal left
            left -= 1
            store.drop("c")
            store.create("c", settings(minilm))
            fill("new")
            store.interruption = recreate if left else None

        fill("old")
        await service.local.refresh_index("c")
        searches: list[Callable[[], Awaitable[Any]]] = [
            lambda: service.search.search(asked("a cat", 2)),
            lambda: service.duplicates.page("c", DuplicatesRequest(min_score=0.9, limit=100)),
        ]
        for search in searches:
            left, store.interruption = times, recreate
            if times > ATTEMPTS:
                with pytest.raises(WriteConflict, match="recreated"):
                    await search()
                continue
            found = await search()
            if isinstance(found, SearchResults):
                assert [(hit.text, round(hit.score, 5)) for hit in found.hits] == [("new", 1.0)] * 2
                assert found.version == str(store.collection("c").version)
            else:
                assert [[document.text for document in group.documents] for group in found.groups] == [["new", "new"]]


def random_tokens(seed: int, count: int, dim: int) -> TokenEmbeddings:
    vectors = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    return TokenEmbeddings(vectors, np.ones(count, np.float32))


async def test_candidates_are_scored_in_bounded_memory(
    store: SqlDocumentStore, minilm: Transformer, tmp_path: Path
) -> None:
    many, length = 1000, 64
    codes = [quantize(random_tokens(i, length + i % 3, minilm.dim))[0] for i in range(many)]
    async with open_search(store, minilm, tmp_path, "int8") as service:
        put(store, [f"d{i}" for i in range(many)], (unit_vector(i, minilm.dim) for i in range(many)), codes)
        text = InputText("a cat sleeps", "/query")
        (query,) = (await service.texts.embed(minilm, [text], "query", "tokens")).embeddings
        await service.local.refresh_index("c")
        tracemalloc.start()
        results = await service.search.search(asked(text.text, many, "rcmd"))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert results.scored_from == "token_codes"
        assert peak < many * length * minilm.dim * 4 / 3, "far less than the tokens of all candidates need"
        at_once = similarity("rcmd").score_many(query, [dequantize(each) for each in codes])
        found = {hit.id: hit.score for hit in results.hits}
        assert found == pytest.approx({f"d{i}": score for i, score in enumerate(at_once)}, abs=1e-6)
        assert list(found.values()) == sorted(found.values(), reverse=True)


@pytest.mark.parametrize("measure", ["rcmd1_words", "bertscore_f1"])
@pytest.mark.parametrize("marked", [True, False])
async def test_marks_of_special_tokens_save_reading_documents(
    store: InterruptedStore, minilm: Transformer, tmp_path: Path, *, marked: bool, measure: str
) -> None:
    """Codes of earlier releases have no marks: their documents are read and tokenized."""
    texts = ["a cat sleeps", "the dog barks", "tax law"]
    async with open_search(store, minilm, tmp_path, "int8") as service:
        inputs = [InputText(text, "") for text in texts]
        embeddings = (await service.texts.embed(minilm, inputs, "document", "tokens")).embeddings
        codes = [quantize(each if marked else replace(each, text=None))[0] for each in embeddings]
        put(store, texts, (unit_vector(i, minilm.dim) for i in range(3)), codes)
        scorer = PassageScorer(service.access, service.texts, store.collection("c"), minilm, similarity(measure))
        read: list[str] = []
        store.interruption = lambda: read.append("documents")
        scores = await scorer.scores(embeddings[0], [PassageKey(text, 0) for text in texts])
        assert bool(read) != marked
        stored = [replace(dequantize(each), text=own.text) for each, own in zip(codes, embeddings, strict=True)]
        exact = similarity(measure).score_many(embeddings[0], stored)
        assert [scores[PassageKey(text, 0)] for text in texts] == pytest.approx(exact.tolist(), abs=1e-6)


@pytest.mark.parametrize(
    ("damage", "measure"),
    [
        (b"", "rcmd"),
        (b"STC1", "rcmd"),
        ("nan", "rcmd"),
        ("dim", "rcmd"),
        (b"no codes", "rcmd_words"),
        ("tokens", "rcmd_words"),
    ],
)
async def test_damaged_token_codes_are_replaced_by_encoding(
    store: SqlDocumentStore,
    minilm: Transformer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    damage: bytes | str,
    measure: str,
) -> None:
    texts = ["a cat sleeps", "the dog barks", "tax law"]
    async with open_search(store, minilm, tmp_path, "int8") as service:
        inputs = [InputText(text, "") for text in texts]
        embeddings = (await service.texts.embed(minilm, inputs, "document", "tokens")).embeddings
        codes = [quantize(each)[0] for each in embeddings]
        if damage == "nan":
            codes[1] = codes[1][:12] + np.float32(np.nan).tobytes() + codes[1][16:]
        elif damage == "tokens":  # of another text
            codes[1] = quantize(random_tokens(1, len(embeddings[1]) + 1, minilm.dim))[0]
        elif damage == "dim":
            codes[1] = quantize(random_tokens(1, 3, minilm.dim - 1))[0]
        else:
            assert isinstance(damage, bytes)
            codes[1] = damage
        put(store, texts, (unit_vector(i, minilm.dim) for i in range(3)), codes)
        await service.local.refresh_index("c")
        results = await service.search.search(asked(texts[0], 3, measure))
        assert results.scored_from == "token_codes"
        found = {hit.text: hit.score for hit in results.hits}
        exact = similarity(measure).score_many(embeddings[0], embeddings)
        assert found == pytest.approx(dict(zip(texts, exact, strict=True)), abs=0.01)
        assert found["the dog barks"] == pytest.approx(exact[1], abs=1e-5), "from its text, not from codes"
        assert "'the dog barks' are damaged" in caplog.text

        marked = (await service.search.search(asked(texts[0], 3, "cosine", HighlightSizes()))).hits
        shown = {hit.text: hit.highlight and hit.highlight.score for hit in marked}
        sound = {i: replace(dequantize(codes[i]), text=embeddings[i].text) for i in (0, 2)}
        stored = [sound.get(i, embeddings[i]) for i in range(3)]
        expected = similarity("rcmd1_content").score_many(embeddings[0], stored)
        assert shown == pytest.approx(dict(zip(texts, expected, strict=True)), abs=1e-6), "from codes if they are sound"

        kept = (await service.search.search(keeping(texts[0], 3))).results[0].kept
        assert kept is not None
        assert kept.score == pytest.approx(SentenceMatches.of(embeddings[0], stored).score, abs=1e-6), "likewise"


async def test_the_beginning_of_a_long_query_keeps_sentences(
    store: SqlDocumentStore, minilm: Transformer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["a cat sleeps on the sofa", "the dog barks", "tax law"]
    async with open_search(store, minilm, tmp_path) as service:
        embeddings = minilm.encode(minilm.tokenize(texts, "document", "END"), "tokens")
        put(store, texts, (unit_vector(i, minilm.dim) for i in range(3)))
        await service.local.refresh_index("c")
        for tokens in (2, 4, 512):
            monkeypatch.setattr(hits, "MAX_QUERY_TOKENS", tokens)
            kept = (await service.search.search(keeping(texts[0], 3))).results[0].kept
            assert kept is not None
            expected = SentenceMatches.of(embeddings[0].first(tokens), embeddings).score
            assert kept.score == pytest.approx(expected, abs=1e-5)


async def test_a_distance_uses_unnormalized_vectors(store: SqlDocumentStore, tmp_path: Path) -> None:
    """An index stores directions only: a model that does not normalize needs its own vectors."""
    checkpoint = built_in_checkpoint()
    long = Transformer("minilm", replace(checkpoint, modules=replace(checkpoint.modules, normalize=False)))
    texts = ["a cat sleeps", "the dog of my neighbour barks all night long", "tax law"]
    async with open_search(store, long, tmp_path) as service:
        inputs = [InputText(text, "") for text in texts]
        embeddings = (await service.texts.embed(long, inputs, "document", "pooled")).embeddings
        put(store, texts, (unit_rows(each.pooled()).astype(np.float32) for each in embeddings))
        await service.local.refresh_index("c")
        query = (await service.texts.embed(long, inputs[:1], "query", "pooled")).embeddings[0].pooled()
        results = await service.search.search(asked(texts[0], 3, "negative_euclidean"))
        found = {hit.text: hit.score for hit in results.hits}
        right = [-float(np.linalg.norm(query - each.pooled())) for each in embeddings]
        assert found == pytest.approx(dict(zip(texts, right, strict=True)), abs=1e-4)
        assert min(right) < -2, "further apart than any two vectors of unit length"
        assert results.scored_from == "encoder"


VALUES = st.one_of(st.none(), st.sampled_from([1, 1.0, True, "a", "b", ["a"]]))


def hits_of(values: list[Any]) -> list[SearchHit]:
    """Hits with a metadata field `team`, best first; a value of None stands for documents without it."""
    documents = [Document(str(i), "text", {} if each is None else {"team": each}) for i, each in enumerate(values)]
    return [
        SearchHit(each, 1 - i / 100, each.searched(()), [ScoredPassage(0, 4, 1 - i / 100, 0)])
        for i, each in enumerate(documents)
    ]


def ids(hits: list[SearchHit]) -> list[int]:
    return [int(hit.document.id) for hit in hits]


@given(values=st.lists(VALUES, max_size=12), size=st.integers(1, 3), k=st.integers(1, 12))
def test_groups_hold_the_best_hits_of_each_value(values: list[Any], size: int, k: int) -> None:
    keys = [f"{type(v) is bool}{v:g}" if isinstance(v, int | float) else f"text {v}" for v in values]
    keys = [
        key if isinstance(v, str | int | float) else f"own {i}"
        for i, (v, key) in enumerate(zip(values, keys, strict=True))
    ]
    first = list(dict.fromkeys(keys))[:k]
    expected = [i for key in first for i in [i for i, own in enumerate(keys) if own == key][:size]]
    assert ids(Choice("team", size).of(hits_of(values), {}, slice(k))) == expected


@given(seed=st.integers(0, 100), n=st.integers(1, 12), k=st.integers(1, 12), diversity=st.floats(0.01, 1.0))
def test_each_diverse_hit_is_the_best_that_is_left(seed: int, n: int, k: int, diversity: float) -> None:
    """In plain loops: no other item left has a larger marginal relevance than the one chosen."""
    rng = np.random.default_rng(seed)
    relevance, vectors = rng.normal(size=n).astype(np.float32), unit_rows(rng.normal(size=(n, 3))).astype(np.float32)
    chosen = marginally_relevant(relevance, vectors, diversity, k)
    assert len(chosen) == len(set(chosen)) == min(k, n)
    for place, item in enumerate(chosen):
        before = chosen[:place]

        def value(i: int, before: list[int] = before) -> float:
            alike = max((float(sum(vectors[i] * vectors[j])) for j in before), default=0.0)
            return float((1 - diversity) * relevance[i] - diversity * alike)

        best = max(value(i) for i in range(n) if i not in before)
        assert math.isclose(value(item), best, abs_tol=1e-5)


def test_a_diverse_choice_leaves_out_a_twin() -> None:
    vectors = {"0": np.array([[1.0, 0.0]]), "1": np.array([[1.0, 0.0]]), "2": np.array([[0.0, 1.0]])}
    hits = hits_of([None, None, None])
    assert ids(Choice(diversity=0.5).of(hits, vectors, slice(2))) == [0, 2]
    assert ids(Choice(diversity=0.001).of(hits, vectors, slice(2))) == [0, 1]
    assert ids(Choice(diversity=0.5).of(hits, {"0": vectors["0"]}, slice(3))) == [0]


def scorer(max_tokens: int, passage_tokens: int | None = None, *, coded: bool = True) -> PassageScorer:
    encoder = RandomEncoder("m", "s", 8)
    encoder.max_tokens = max_tokens
    stored: TokenStorage = "int8" if coded else "none"
    settings = CollectionSettings("m", "s", 8, "cosine", "exact", stored, passage_tokens)
    unused = cast("Any", None)
    collection = cast("Any", SimpleNamespace(settings=settings))
    return PassageScorer(unused, unused, collection, encoder, similarity("rcmd"))


@pytest.mark.parametrize(
    ("max_tokens", "passage_tokens", "count", "size"),
    [
        (256, None, 10, CHUNK),  # not divided: each part takes a query and a thread
        (256, None, 100, 50),  # divided by the threads
        (256, None, 1000, CHUNK_TOKENS // 256),
        (8192, None, 1000, CHUNK),  # long texts are no reason for more and more chunks
        (8192, 128, 1000, CHUNK_TOKENS // 128),  # of passages, their length counts
        (64, 128, 1000, CHUNK_TOKENS // 64),
    ],
)
def test_chunks_of_token_codes_are_few(max_tokens: int, passage_tokens: int | None, count: int, size: int) -> None:
    assert scorer(max_tokens, passage_tokens)._chunk_size(count) == size


def test_texts_are_encoded_a_few_at_a_time() -> None:
    """A call of more tokens might be refused by the limit of a request."""
    assert scorer(64, coded=False)._chunk_size(1000) == CHUNK
