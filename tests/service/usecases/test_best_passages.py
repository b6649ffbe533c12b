"""Best passages of documents that are written meanwhile: texts, terms and vectors are of one state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from semblance.models.encoders.transformer import Transformer
from semblance.models.explanation import tokens_of
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.errors import UnknownDocument, WriteConflict
from semblance.service.model_loading.registry import LazyModels, read_served
from semblance.service.ports.documents import Document, Write
from semblance.service.replication.retries import ATTEMPTS
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.embed import InputText
from semblance.service.usecases.explain.best_passages import BestPassages, DocumentQuery
from tests.service.usecases.test_search import InterruptedStore, open_search, settings
from tests.support.vectors import one_passage, unit_vector

QUERY = DocumentQuery(InputText("a cat", "/query"), "c", {"d": "/a", "e": "/b"}, "rcmd", "END", by_terms=True)


@pytest.fixture
def store(tmp_path: Path) -> InterruptedStore:
    return InterruptedStore(sqlite_engine(tmp_path / "documents.sqlite"))


def write(store: InterruptedStore, encoder: Transformer, **texts: str) -> None:
    embedded = one_passage(unit_vector(0, encoder.dim))
    store.upsert(store.collection("c"), [Write(Document(doc_id, text, {}), embedded) for doc_id, text in texts.items()])


@asynccontextmanager
async def open_best_passages(
    store: InterruptedStore, encoder: Transformer, folder: Path
) -> AsyncIterator[BestPassages]:
    """The use case on a collection of two documents."""
    async with open_search(store, encoder, folder) as (_, local, texts):
        store.create("c", settings(encoder))
        write(store, encoder, d="a cat and a cat", e="a dog")
        await local.refresh_index("c")
        yield BestPassages(Collections(LazyModels(read_served("minilm"), lambda *_: encoder, 30), local), local, texts)


def at_read(store: InterruptedStore, number: int, interrupt: Callable[[], None]) -> None:
    """Interrupt the store before its n-th read from now."""

    def wait() -> None:
        at_read(store, number - 1, interrupt)

    store.interruption = interrupt if number == 1 else wait


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_a_text_never_has_the_terms_of_another(
    store: InterruptedStore, minilm: Transformer, tmp_path: Path, number: int
) -> None:
    async with open_best_passages(store, minilm, tmp_path) as best_passages:
        at_read(store, number, lambda: write(store, minilm, d="a parrot and a cat, a cat and a cat"))
        found = await best_passages(QUERY)
        assert [each.id for each in found.passages] == ["d", "e"]
        for each in found.passages:
            text = tokens_of(each.tokens).text.replace(",", "").split()
            assert {term.term: term.tf for term in each.terms} == {
                word: text.count(word) for word in ("a", "cat") if word in text
            }
        rewritten = number < 3  # the second read of the first attempt is the last one
        assert tokens_of(found.passages[0].tokens).text.startswith("a parrot" if rewritten else "a cat")
        assert found.version.number == (2 if rewritten else 1)


async def test_documents_rewritten_on_every_attempt_are_a_conflict(
    store: InterruptedStore, minilm: Transformer, tmp_path: Path
) -> None:
    async with open_best_passages(store, minilm, tmp_path) as best_passages:
        written = 0

        def rewrite() -> None:
            nonlocal written
            written += 1
            write(store, minilm, d=f"a cat {written}")
            store.interruption = rewrite

        store.interruption = rewrite
        with pytest.raises(WriteConflict, match="'d' or 'e' was rewritten during the request; retry"):
            await best_passages(QUERY)
        assert written >= ATTEMPTS

        def delete() -> None:
            store.delete("c", "d")

        store.interruption = delete
        with pytest.raises(UnknownDocument, match="no document 'd'"):
            await best_passages(QUERY)
