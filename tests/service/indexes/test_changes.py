"""Which documents have changed in an index since a search."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.service.indexes.collection_index import CollectionIndex
from semblance.service.ports.documents import (
    Collection,
    CollectionSettings,
    CutDocuments,
    Document,
    VectorChange,
    Version,
)
from tests.support.stored_index import StoredIndex

SETTINGS = CollectionSettings("m", "space", 2, "cosine", "exact", "none")


def change(doc_id: str, text: str, number: int = 1) -> VectorChange:
    return VectorChange(doc_id, 1, np.eye(2, dtype=np.float32)[:1], {"n": number}, [text])


def read(text: str, number: int = 1) -> CutDocuments:
    """Document a as it was read after a search."""
    collection = Collection("c", Version("epoch", 2, ""), SETTINGS)
    return CutDocuments(collection, {"a": Document("a", text, {"n": number}, version=2)}, {})


@pytest.fixture
def index() -> CollectionIndex:
    index = StoredIndex("exact", 2)
    index.apply([change("a", "text"), change("b", "text")])
    return index


def test_a_document_is_unchanged_beside_changes_of_others(index: CollectionIndex) -> None:
    since = index.changes
    index.apply([change("b", "other"), change("c", "new"), change("a", "text")])
    index.apply([change("b", "other", number=2)])
    assert index.unchanged(since, read("text")) == ["a"]


@pytest.mark.parametrize("former", [change("a", "other"), change("a", "text", number=2)])
def test_a_document_that_changed_and_came_back_counts_as_changed(index: CollectionIndex, former: VectorChange) -> None:
    since = index.changes
    index.apply([former])
    index.apply([change("a", "text")])
    assert index.unchanged(since, read("text")) == []
    assert index.unchanged(index.changes, read("text")) == ["a"]


@pytest.mark.parametrize("newer", [read("other"), read("text", number=2)])
def test_a_document_that_was_read_anew_counts_as_changed(index: CollectionIndex, newer: CutDocuments) -> None:
    assert index.unchanged(index.changes, newer) == []
