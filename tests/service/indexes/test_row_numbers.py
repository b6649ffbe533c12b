"""Row numbers as NumPy and FAISS take them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from semblance.service.indexes.row_numbers import numbers_of, others, selector

COUNT = 100
ROWS = st.sets(st.integers(0, COUNT - 1))


@given(ROWS)
def test_numbers_come_in_order(rows: set[int]) -> None:
    assert numbers_of(BitMap(rows)).tolist() == sorted(rows)


@given(ROWS)
def test_others_are_all_that_are_not_among_them(rows: set[int]) -> None:
    assert set(others(BitMap(rows), COUNT)) == set(range(COUNT)) - rows


@given(ROWS)
def test_a_selector_lets_through_what_is_allowed_whether_few_or_nearly_all(rows: set[int]) -> None:
    only = selector(BitMap(rows), COUNT)
    assert [row for row in range(COUNT) if only is None or only.is_member(row)] == sorted(rows)
    assert (only is None) == (len(rows) == COUNT)
