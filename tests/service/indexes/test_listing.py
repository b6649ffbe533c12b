"""Documents selected by filter, in order, against a sort of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semblance.service.filters import parse_filter
from semblance.service.ports.documents import VectorChange
from semblance.service.ports.indexes import DocumentSelection, FacetQuery
from semblance.service.sorting import Order
from tests.contracts.test_indexes import FILTERS, empty, entries, holds, kind

VECTOR = np.ones((1, 8), np.float32) / np.float32(8**0.5)
VALUES = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from([0.5, 1.0]), st.text("ab", max_size=2))
METADATA: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "size": st.one_of(VALUES, st.lists(st.one_of(VALUES, st.just({})), max_size=3), st.just({"nested": 1})),
        "color": st.sampled_from(["red", "green"]),
    },
)
WHERE = [None, {"color": "red"}, {"size": {"gte": 1}}, {"not": {"color": "red"}}]
SELECTIONS = st.builds(
    DocumentSelection,
    where=st.sampled_from([where and parse_filter(where) for where in WHERE]),
    limit=st.integers(1, 30),
    order=st.one_of(st.none(), st.builds(Order, st.sampled_from(["size", "color", "none"]), st.booleans())),
    offset=st.integers(0, 5),
    after=st.sampled_from(["", "", "b"]),
)
KINDS = ["NoneType", "bool", "number", "str"]


def expected(documents: Mapping[str, Mapping[str, Any]], selection: DocumentSelection) -> list[str]:
    where, order = selection.where, selection.order
    ids = [i for i in documents if i > selection.after and (where is None or holds(where, documents[i]))]
    if order is None:
        return sorted(ids)

    def keys(doc_id: str) -> list[tuple[int, Any]]:
        values = entries(documents[doc_id], order.field)
        return [
            (KINDS.index(kind(each)), each or 0 if each is None else each) for each in values if kind(each) in KINDS
        ]

    with_value = sorted(i for i in ids if keys(i))
    best = max if order.descending else min
    with_value.sort(key=lambda i: best(keys(i)), reverse=order.descending)
    return with_value + sorted(i for i in ids if not keys(i))


@settings(deadline=None, max_examples=200)
@given(
    documents=st.dictionaries(st.text("abc", min_size=1, max_size=3), METADATA, max_size=20),
    selection=SELECTIONS,
    unique=st.booleans(),
)
def test_selected_documents_are_those_of_a_sort(
    documents: dict[str, dict[str, Any]], selection: DocumentSelection, unique: bool
) -> None:
    if unique:  # more values than documents that match, so that these are gone through
        documents = documents | {f"other {i}": {"size": 100 + i, "color": "blue"} for i in range(30)}
    index = empty("faiss_flat")
    index.apply([VectorChange(doc_id, 1, VECTOR, metadata) for doc_id, metadata in documents.items()])
    expected_ids = expected(documents, selection)[selection.offset :][: selection.limit]
    assert index.select(selection).ids == expected_ids


@pytest.mark.parametrize("json", FILTERS[1:4])
def test_documents_are_counted_among_some(json: Mapping[str, Any]) -> None:
    documents = {str(i): {"color": ["red", "blue"][i % 2], "size": i % 3} for i in range(20)}
    index = empty("faiss_flat")
    index.apply([VectorChange(doc_id, 1, VECTOR, metadata) for doc_id, metadata in documents.items()])
    where, among = parse_filter(json), ["1", "2", "3", "4", "gone"]
    counted = index.count(where, {"color": FacetQuery(5)}, among)
    matching = [documents[i]["color"] for i in among[:-1] if holds(where, documents[i])]
    assert counted.documents == len(matching)
    assert {each.value: each.documents for each in counted.facets["color"].values} == {
        color: matching.count(color) for color in set(matching)
    }


@given(documents=st.dictionaries(st.text("abc", min_size=1, max_size=3), METADATA, min_size=1, max_size=20))
def test_facets_of_few_documents_are_those_of_a_count(documents: dict[str, dict[str, Any]]) -> None:
    index = empty("faiss_flat")
    others = {f"other {i}": {"size": 100 + i} for i in range(30)}
    index.apply([VectorChange(doc_id, 1, VECTOR, metadata) for doc_id, metadata in (documents | others).items()])
    found = index.count(None, {"size": FacetQuery(50)}, list(documents)).facets["size"]
    alone = empty("faiss_flat")
    alone.apply([VectorChange(doc_id, 1, VECTOR, metadata) for doc_id, metadata in documents.items()])
    assert found == alone.count(None, {"size": FacetQuery(50)}, [*documents, *documents]).facets["size"]
