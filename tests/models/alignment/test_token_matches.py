"""Batched best matches: any block size gives the same means, within the memory of a block."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.alignment.ragged import split_by_size
from semblance.models.alignment.token_matches import BLOCK_BYTES, best_match_means, token_weights, words_only
from semblance.models.embeddings import TokenEmbeddings
from tests.support.plain_measures import one_way
from tests.support.token_matrices import embeddings_of, token_embeddings

texts = st.lists(token_embeddings(), max_size=5)


@given(left=texts, right=texts, block_numbers=st.integers(1, 400))
def test_any_block_size_agrees_with_one_block_and_with_loops(
    left: list[TokenEmbeddings], right: list[TokenEmbeddings], block_numbers: int
) -> None:
    """Even if a text is larger than a block."""
    whole = best_match_means(left, right)
    blocks = best_match_means(left, right, block_bytes=4 * block_numbers)
    loops = [[one_way(a, b) for b in right] for a in left], [[one_way(b, a) for b in right] for a in left]
    for side, looped in enumerate(loops):
        assert whole[side].shape == (len(left), len(right))
        assert blocks[side] == pytest.approx(whole[side], abs=1e-6)
        assert whole[side] == pytest.approx(np.reshape(looped, whole[side].shape), abs=1e-6)


@given(left=texts, right=texts, block_numbers=st.integers(1, 400))
def test_words_are_matched_as_in_texts_of_nothing_else(
    left: list[TokenEmbeddings], right: list[TokenEmbeddings], block_numbers: int
) -> None:
    """Wherever the special tokens are."""
    together = best_match_means(left, right, token_weights, words_only, block_bytes=4 * block_numbers)
    own_left, own_right = ([words_only(text) for text in side] for side in (left, right))
    for found, expected in zip(together, best_match_means(own_left, own_right, token_weights), strict=True):
        assert found == pytest.approx(expected, abs=1e-6)


def random_text(tokens: int) -> TokenEmbeddings:
    return embeddings_of(np.random.default_rng(0).normal(size=(tokens, 384)).astype(np.float32))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left_count", "left_tokens"), [(1, 1), (1, 64), (1, 512), (16, 64)], ids=["token", "query", "long", "many"]
)
def test_memory_is_bounded_by_one_block_of_cosines_and_vectors(left_count: int, left_tokens: int) -> None:
    """Without blocks, the vectors would take 192 MB, and the cosines of the last case 512 MB."""
    left, right = [random_text(left_tokens)] * left_count, [random_text(32)] * 4096
    best_match_means(left[:1], right[:1])
    tracemalloc.start()
    try:
        best_match_means(left, right)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    means = 2 * 8 * len(left) * len(right)
    vectors_left = 4 * 384 * left_count * left_tokens
    few_numbers_per_text_and_token = 4 << 20
    assert peak < 2 * BLOCK_BYTES + vectors_left + means + few_numbers_per_text_and_token


@given(sizes=st.lists(st.integers(0, 9)), limit=st.integers(1, 20))
def test_chunks_are_in_order_complete_and_as_large_as_possible(sizes: list[int], limit: int) -> None:
    chunks = [sizes[chunk] for chunk in split_by_size(sizes, limit)]
    assert [size for chunk in chunks for size in chunk] == sizes
    for i, chunk in enumerate(chunks):
        assert chunk
        assert sum(chunk) <= limit or len(chunk) == 1
        if i:
            assert sum(chunks[i - 1]) + chunk[0] > limit, "the first item fits into the previous chunk"
