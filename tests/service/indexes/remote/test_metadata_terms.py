"""Filters as expressions: a server finds every document that matches, and few others."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from semblance.service.filters import matches, parse_filter
from semblance.service.indexes.remote.metadata_terms import MAX_TERMS, MetadataTerms, expression
from semblance.service.indexes.remote.milvus_address import MilvusAddress
from semblance.service.indexes.remote.milvus_index import MilvusIndex
from semblance.service.ports.documents import VectorChange
from semblance.service.ports.remote_index import RemoteCollection
from tests.contracts.test_indexes import FILTERS, METADATA

DIM = 2
LONG = "long " * 20
EDGES: list[Mapping[str, Any]] = [
    {},
    {"size": 2**53 + 1},
    {"size": 10**400},
    {"size": -(10**400)},
    {"size": 1e-320},
    {"size": -0.0},
    {"size": [-5, 5]},
    {"name": LONG + "a"},
    {"name": LONG + "b"},
    {"name": ["a", "c"]},
    {"name": "é"},
    {"name": "\U0001f642"},
    {"name": "\uffff"},
    {"name": ""},
    {'we"ird \\ $%\n': 'x"\\y'},
    {"tags": list(range(MAX_TERMS + 1))},
    {f"f{i}": "a" * 60 for i in range(400)},
]
MORE_FILTERS: list[Mapping[str, Any]] = [
    {"size": 2**53},
    {"size": {"gt": 2**53}},
    {"size": {"gte": 10**399}},
    {"size": {"lt": -(10**399)}},
    {"size": {"gt": 0}},
    {"size": 0},
    {"not": {"size": {"gte": -1, "lt": 1}}},
    {"not": {"name": {"prefix": "a"}}},
    {"name": {"prefix": LONG + "a"}},
    {"not": {"name": {"prefix": LONG + "a"}}},
    {"name": {"gt": LONG + "a"}},
    {"name": {"gte": "\U0001f642"}},
    {"name": {"gt": "\uffff", "lte": "\U0001f642"}},
    {"not": {"and": [{"name": {"lt": "é"}}, {"size": {"exists": False}}]}},
    {'we"ird \\ $%\n': 'x"\\y'},
    {'we"ird \\ $%\n': {"prefix": 'x"'}},
    {"not": {"color": {"in": []}}},
    {"tags": 4096},
    {"f7": {"gte": "a"}},
    {"flag": {"in": [0, 1, True, None, "1"]}},
]


@pytest.fixture(scope="module")
def server(milvus: str) -> Iterator[MilvusIndex]:
    index = MilvusIndex(MilvusAddress.parse(milvus), 10.0)
    yield index
    index.close()


@pytest.mark.slow
def test_the_server_finds_what_the_filter_matches(server: MilvusIndex) -> None:
    documents = {str(i): each for i, each in enumerate([*EDGES, *drawn(150)])}
    target = RemoteCollection(f"semblance_test_{secrets.token_hex(6)}", "g", DIM, exhaustive=True)
    server.create(target)
    vector = np.array([[1, 0]], np.float32)
    server.apply(target, [VectorChange(doc_id, 1, vector, each) for doc_id, each in documents.items()])
    try:
        exact = 0
        for json in [*filter(None, FILTERS), *MORE_FILTERS]:
            where = parse_filter(json)
            [candidates] = server.search(target, vector, 1000, where)
            found = {each.id for each in candidates}
            expected = {doc_id for doc_id, each in documents.items() if matches(where, each)}
            assert found >= expected, (json, expression(where))
            more = [documents[doc_id] for doc_id in found - expected]
            overflowing = [each for each in more if MetadataTerms.of(each).overflow]
            exact += len(more) == len(overflowing)
            if not re.search(r"'(gte?|lte?|prefix)'", str(json)):
                assert len(more) == len(overflowing), (json, more)
        assert exact > len(FILTERS), "most filters need no further check"
    finally:
        server.drop(target.key)


def drawn(count: int) -> list[Mapping[str, Any]]:
    """Metadata as Hypothesis draws them for the contract of local indexes."""
    found: list[Mapping[str, Any]] = []

    @given(METADATA)
    def draw(metadata: Mapping[str, Any]) -> None:
        found.append(metadata)

    while len(found) < count:
        draw()
    return found[:count]


def test_terms_of_equal_values_are_equal_and_others_differ() -> None:
    def terms(value: object) -> list[str]:
        return MetadataTerms.of({"field": value}).terms

    assert terms(1) == terms(1.0)
    assert terms(0) == terms(-0.0)
    different: list[object] = [1, True, "1", None, 1.5, "True", [], {}]
    assert len({tuple(terms(each)) for each in different}) == 7, "[] and {} have none"


def test_too_much_metadata_is_found_by_each_filter() -> None:
    many = MetadataTerms.of({"tags": list(range(MAX_TERMS))})
    assert (many.overflow, many.terms, many.ranges) == (True, [], {})
    assert expression(parse_filter({"tags": 7})).endswith("or overflow == true")
    assert expression(None) == ""
