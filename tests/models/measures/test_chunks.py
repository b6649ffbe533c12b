"""Splitting lists into chunks of bounded size."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from semblance.models.measures.chunks import split_by_size


@given(sizes=st.lists(st.integers(0, 9)), limit=st.integers(1, 20))
def test_chunks_are_in_order_complete_and_as_large_as_possible(sizes: list[int], limit: int) -> None:
    chunks = [sizes[chunk] for chunk in split_by_size(sizes, limit)]
    assert [size for chunk in chunks for size in chunk] == sizes
    for i, chunk in enumerate(chunks):
        assert chunk
        assert sum(chunk) <= limit or len(chunk) == 1
        if i:
            assert sum(chunks[i - 1]) + chunk[0] > limit, "the first item fits into the previous chunk"
