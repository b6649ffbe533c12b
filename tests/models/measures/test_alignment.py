"""Best matches of many texts at once: in blocks as in one piece, and never more in memory than a block."""

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
    """The means both ways, one pair and one cosine after another."""
    return [[one_way(a, b) for b in right] for a in left], [[one_way(b, a) for b in right] for a in left]


@given(left=texts, right=texts, block_numbers=st.integers(1, 400))
def test_in_blocks_of_any_size_as_in_one_piece_and_as_in_loops(
    left: list[TokenEmbeddings], right: list[TokenEmbeddings], block_numbers: int
) -> None:
    whole = best_match_means(left, right)
    blocks = best_match_means(left, right, block_bytes=4 * block_numbers)
    for side, looped in enumerate(in_loops(left, right)):
        assert whole[side].shape == (len(left), len(right))
        assert blocks[side] == pytest.approx(whole[side], abs=1e-6)
        assert whole[side] == pytest.approx(np.reshape(looped, whole[side].shape), abs=1e-6)


@given(a=token_embeddings(), b=token_embeddings())
def test_one_pair_as_among_many(a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    assert pair_means(a, b) == pytest.approx((one_way(a, b), one_way(b, a)), abs=1e-6)


def drawn(tokens: int) -> TokenEmbeddings:
    return embeddings_of(np.random.default_rng(0).normal(size=(tokens, 384)).astype(np.float32))


@pytest.mark.parametrize(
    ("left_count", "left_tokens"), [(1, 1), (1, 64), (1, 512), (64, 64)], ids=["token", "query", "long", "many"]
)
def test_memory_stays_within_a_block_of_cosines_and_one_of_vectors(left_count: int, left_tokens: int) -> None:
    """In one piece the vectors of one side alone would take 192 MB, the cosines of the last case 2 GB."""
    left, right = [drawn(left_tokens)] * left_count, [drawn(32)] * 4096
    best_match_means(left[:1], right[:1])
    tracemalloc.start()
    try:
        best_match_means(left, right)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    means = 2 * 8 * len(left) * len(right)
    vectors_left = 4 * 384 * left_count * left_tokens
    assert peak < 2 * BLOCK_BYTES + vectors_left + means + (4 << 20), "the rest is a number or two a text and a token"


def test_a_text_that_is_larger_than_a_block_is_compared_as_a_whole() -> None:
    rng = np.random.default_rng(0)
    query, short, long = (embeddings_of(rng.normal(size=(n, 4)).astype(np.float32)) for n in (3, 2, 50))
    for left, right in (([query], [short, long, short, short]), ([long, query, short], [short, long])):
        means = best_match_means(left, right, block_bytes=4 * 4 * 5)
        for side, looped in enumerate(in_loops(left, right)):
            assert means[side] == pytest.approx(np.array(looped), abs=1e-6)
