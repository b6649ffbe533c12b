"""Filters on single documents agree with the postings of an index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from pyroaring import BitMap

from semblance.service.filters import All, Between, Either, Exists, Filter, Not, OneOf, Prefix, matches
from semblance.service.indexes.postings import Postings

FIELDS = st.sampled_from(["a", "b", "c"])
STRINGS = st.text("xy\uffff🙂", max_size=2)
NUMBERS = st.integers(-2, 2) | st.sampled_from([-0.0, 0.5, 1.0, 2**53, 2**53 + 1, float(2**53)])
SCALARS = st.none() | st.booleans() | NUMBERS | STRINGS
METADATA = st.dictionaries(FIELDS, SCALARS | st.lists(SCALARS | st.just({"x": "x"}), max_size=3) | st.just({"x": 1}))


@st.composite
def ranges(draw: st.DrawFn) -> Between:
    values = draw(st.sampled_from([NUMBERS, STRINGS]))
    low, high = draw(st.tuples(values, values) | st.tuples(values, st.none()) | st.tuples(st.none(), values))
    return Between(draw(FIELDS), low, high, draw(st.booleans()), draw(st.booleans()))


def combined(parts: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    several = st.lists(parts, min_size=1, max_size=3).map(tuple)
    return st.builds(Not, parts) | st.builds(All, several) | st.builds(Either, several)


FILTERS: st.SearchStrategy[Filter] = st.recursive(
    st.builds(OneOf, FIELDS, st.lists(SCALARS, max_size=3).map(tuple))
    | ranges()
    | st.builds(Prefix, FIELDS, STRINGS.filter(bool))
    | st.builds(Exists, FIELDS),
    combined,
    max_leaves=6,
)


@given(documents=st.lists(METADATA, min_size=1, max_size=6), where=FILTERS)
@example(documents=[{"a": 1}], where=Between("a", 1, None, includes_low=False, includes_high=True))
@example(documents=[{"a": 1}], where=Between("a", None, 1, includes_low=True, includes_high=False))
def test_a_document_matches_exactly_if_the_postings_find_it(documents: list[Mapping[str, Any]], where: Filter) -> None:
    postings = Postings()
    for row, metadata in enumerate(documents):
        postings.add(row, metadata)
    found = postings.matching(where, BitMap(range(len(documents))))
    assert [matches(where, metadata) for metadata in documents] == [row in found for row in range(len(documents))]
