"""Portions of a list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from semblance.models.measures.chunks import portions


@given(sizes=st.lists(st.integers(0, 9)), most=st.integers(1, 20))
def test_portions_are_all_in_order_and_as_large_as_may_be(sizes: list[int], most: int) -> None:
    found = [sizes[portion] for portion in portions(sizes, most)]
    assert [size for portion in found for size in portion] == sizes
    for i, portion in enumerate(found):
        assert portion
        assert sum(portion) <= most or len(portion) == 1
        if i:
            assert sum(found[i - 1]) + portion[0] > most, "it would have had room in the one before"
