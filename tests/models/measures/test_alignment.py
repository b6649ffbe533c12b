"""Batched best matches: any block size gives the same means, within the memory of a block."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.embeddings import TokenEmbeddings
from semblance.models.measures.alignment import BLOCK_BYTES, best_match_means, pair_means
from tests.support.plain_measures import one_way
from tests.support.token_matrices import embeddings_of, token_embeddings

texts = st.lists(token_embeddings(), max_size=5)


def in_loops(left: list[TokenEmbeddings], right: list[TokenEmbeddings]) -> tuple[list[list[float]], list[list[float]]]:
    """Means in both directions, one pair and one cosine at a time."""
    return [[one_way(a, b) for b in right] for a in left], [[one_way(b, a) for b in right] for a in left]


@given(left=texts, right=texts, block_numbers=st.integers(1, 400))
def test_any_block_size_agrees_with_one_block_and_with_loops(
    left: list[TokenEmbeddings], right: list[TokenEmbeddings], block_numbers: int
) -> None:
    whole = best_match_means(left, right)
    blocks = best_match_means(left, right, block_bytes=4 * block_numbers)
    for side, looped in enumerate(in_loops(left, right)):
        assert whole[side].shape == (len(left), len(right))
        assert blocks[side] == pytest.approx(whole[side], abs=1e-6)
        assert whole[side] == pytest.approx(np.reshape(looped, whole[side].shape), abs=1e-6)


@given(a=token_embeddings(), b=token_embeddings())
def test_one_pair_agrees_with_a_loop(a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    assert pair_means(a, b) == pytest.approx((one_way(a, b), one_way(b, a)), abs=1e-6)


def random_text(tokens: int) -> TokenEmbeddings:
    return embeddings_of(np.random.default_rng(0).normal(size=(tokens, 384)).astype(np.float32))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left_count", "left_tokens"), [(1, 1), (1, 64), (1, 512), (64, 64)], ids=["token", "query", "long", "many"]
)
def test_memory_is_bounded_by_one_block_of_cosines_and_vectors(left_count: int, left_tokens: int) -> None:
    """Without blocks, the vectors would take 192 MB, and the cosines of the last case 2 GB."""
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
    assert peak < 2 * BLOCK_BYTES + vectors_left + means + (4 << 20), (
        "the margin is for a few numbers per text and token"
    )


def test_a_text_larger_than_a_block_is_not_split() -> None:
    rng = np.random.default_rng(0)
    query, short, long = (embeddings_of(rng.normal(size=(n, 4)).astype(np.float32)) for n in (3, 2, 50))
    for left, right in (([query], [short, long, short, short]), ([long, query, short], [short, long])):
        means = best_match_means(left, right, block_bytes=4 * 4 * 5)
        for side, looped in enumerate(in_loops(left, right)):
            assert means[side] == pytest.approx(np.array(looped), abs=1e-6)
