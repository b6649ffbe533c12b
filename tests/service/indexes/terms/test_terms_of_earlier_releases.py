"""A snapshot with the terms of an earlier release is built again, so that its texts are found by today's terms."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from semblance.models.tokenization.terms import Term, document_terms, query_terms
from semblance.service.documents.databases.sqlite import sqlite_engine
from semblance.service.documents.sql import SqlDocumentStore
from semblance.service.indexes import snapshots
from semblance.service.indexes.index_folder import IndexFolder
from semblance.service.indexes.terms import bm25
from semblance.service.ports.documents import CollectionSettings, Document, Write
from semblance.service.ports.indexes import HybridQuery, VectorIndex
from semblance.service.replication.local_node import LocalNode
from tests.support.vectors import one_passage, unit_vector

DIM = 4
LAST_FORMAT = 4  # of the release before letters without decomposition were folded
TEXTS = {"pl": "Sklep w Łodzi", "da": "Butik i København", "code": "Part AB\u201412", "en": "A shop in a town"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A store with documents, without an index."""
    store = SqlDocumentStore(sqlite_engine(tmp_path / "documents.sqlite"))
    store.create("c", CollectionSettings("m", "space", DIM, "cosine", "exact", "none"))
    writes = [
        Write(Document(key, text, {}), one_passage(unit_vector(row, DIM)))
        for row, (key, text) in enumerate(TEXTS.items())
    ]
    store.upsert(store.collection("c"), writes)
    store.close()
    return tmp_path


async def found(home: Path, query: str) -> list[str]:
    """Ids by terms, from a node that is started and, with a snapshot of its index, stopped."""
    node = LocalNode(SqlDocumentStore(sqlite_engine(home / "documents.sqlite")), IndexFolder(home / "indexes"))
    await node.refresh_indexes()

    def search(index: VectorIndex) -> list[str]:
        wanted = HybridQuery(unit_vector(9, DIM), query_terms(query), terms_only=True)
        return [hit.id for hit in index.search_hybrid(wanted, 10, None, 1).hits]

    try:
        _, index = await node.current("c", None)
        return await node.search(lambda _: search(index))
    finally:
        node.close()


def former_terms(text: str) -> Iterator[Term]:
    """Words in lower case."""
    return (Term(text[term.start : term.end].lower(), term.start, term.end) for term in document_terms(text))


async def test_terms_of_the_last_format_are_built_again(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as former:
        former.setattr(snapshots, "FORMAT", LAST_FORMAT)
        former.setattr(bm25, "document_terms", former_terms)
        assert await found(home, "lodzi") == []
        assert await found(home, "shop") == ["en"]
    manifest = home / "indexes" / "c" / snapshots.MANIFEST
    assert json.loads(manifest.read_text())["manifest"]["format"] == LAST_FORMAT
    with caplog.at_level(logging.WARNING):
        for query, expected in (("lodzi", "pl"), ("kobenhavn", "da"), ("AB-12", "code"), ("shop", "en")):
            assert await found(home, query) == [expected]
    reason = f"its snapshot is not used: its format is {LAST_FORMAT}, this release reads {snapshots.FORMAT}"
    assert caplog.text.count(reason) == 1, "the first start replaced it"
    assert json.loads(manifest.read_text())["manifest"]["format"] == snapshots.FORMAT
