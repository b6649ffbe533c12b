"""Best passages of documents that are written meanwhile: texts, terms and vectors are of one state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from semblance.models.encoders.transformer import Transformer
from semblance.models.explanation import tokens_of
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.errors import UnknownDocument, WriteConflict
from semblance.service.replication.retries import ATTEMPTS
from semblance.service.usecases.explain.best_passages import DocumentQuery
from semblance.service.usecases.text_embedder import InputText
from tests.service.usecases.one_service import OneService
from tests.service.usecases.test_search import InterruptedStore, open_search, write
from tests.support.vectors import unit_vector

QUERY = DocumentQuery(InputText("a cat", "/query"), "c", {"d": "/a", "e": "/b"}, "rcmd", "END", by_terms=True)


@pytest.fixture
def store(tmp_path: Path) -> InterruptedStore:
    return InterruptedStore(sqlite_engine(tmp_path / "documents.sqlite"))


@pytest.fixture
async def service(store: InterruptedStore, minilm: Transformer, tmp_path: Path) -> AsyncIterator[OneService]:
    async with open_search(store, minilm, tmp_path) as service:
        rewrite(store, "d", "a cat and a cat")
        rewrite(store, "e", "a dog")
        await service.local.refresh_index("c")
        yield service


def rewrite(store: InterruptedStore, doc_id: str, text: str) -> None:
    write(store, doc_id, text, unit_vector(0, store.collection("c").settings.dim))


def at_read(store: InterruptedStore, number: int, interrupt: Callable[[], None]) -> None:
    """Interrupt the store before its n-th read from now."""

    def wait() -> None:
        at_read(store, number - 1, interrupt)

    store.interruption = interrupt if number == 1 else wait


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_a_text_never_has_the_terms_of_another(store: InterruptedStore, service: OneService, number: int) -> None:
    at_read(store, number, lambda: rewrite(store, "d", "a parrot and a cat, a cat and a cat"))
    found = await service.best_passages(QUERY)
    assert [each.id for each in found.passages] == ["d", "e"]
    for each in found.passages:
        text = tokens_of(each.tokens).text.replace(",", "").split()
        assert {term.term.text: term.tf for term in each.terms} == {
            word: text.count(word) for word in ("a", "cat") if word in text
        }
    rewritten = number < 3  # the second read of the first attempt is the last one
    assert tokens_of(found.passages[0].tokens).text.startswith("a parrot" if rewritten else "a cat")
    assert found.version.number == (3 if rewritten else 2)


async def test_documents_rewritten_on_every_attempt_are_a_conflict(
    store: InterruptedStore, service: OneService
) -> None:
    written = 0

    def rewrite_always() -> None:
        nonlocal written
        written += 1
        rewrite(store, "d", f"a cat {written}")
        store.interruption = rewrite_always

    store.interruption = rewrite_always
    with pytest.raises(WriteConflict, match="'d' or 'e' was rewritten during the request; retry"):
        await service.best_passages(QUERY)
    assert written >= ATTEMPTS

    def delete() -> None:
        store.delete("c", "d")

    store.interruption = delete
    with pytest.raises(UnknownDocument, match="no document 'd'"):
        await service.best_passages(QUERY)
