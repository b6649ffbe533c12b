"""Best matches of many candidates at once: in blocks as in one piece, and never more in memory than a block."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.plain_measures import one_way
from models.alignment import BLOCK_BYTES, best_match_means
from models.embeddings import TokenEmbeddings
from tests.contracts.token_matrices import embeddings_of, token_embeddings


def in_a_loop(query: TokenEmbeddings, candidate: TokenEmbeddings) -> tuple[float, float]:
    """The two means, one cosine after another."""
    return one_way(query, candidate), one_way(candidate, query)


@given(
    query=token_embeddings(),
    candidates=st.lists(token_embeddings(), max_size=6),
    block_tokens=st.integers(1, 20),
)
def test_in_blocks_of_any_size_as_in_one_piece_and_as_in_a_loop(
    query: TokenEmbeddings, candidates: list[TokenEmbeddings], block_tokens: int
) -> None:
    whole = best_match_means(query, candidates)
    blocks = best_match_means(query, candidates, block_bytes=4 * max(query.vectors.shape) * block_tokens)
    looped = [in_a_loop(query, candidate) for candidate in candidates]
    for side in range(2):
        assert whole[side].shape == (len(candidates),)
        assert blocks[side] == pytest.approx(whole[side], abs=1e-6)
        assert whole[side] == pytest.approx([means[side] for means in looped], abs=1e-6)


@pytest.mark.parametrize("query_tokens", [1, 64, 512])
def test_memory_stays_within_a_block_of_cosines_and_one_of_vectors(query_tokens: int) -> None:
    """In one piece the vectors alone would take 192 MB."""
    rng = np.random.default_rng(0)
    query, candidate = (embeddings_of(rng.normal(size=(n, 384)).astype(np.float32)) for n in (query_tokens, 32))
    candidates = [candidate] * 4096
    best_match_means(query, candidates[:1])
    tracemalloc.start()
    try:
        best_match_means(query, candidates)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * BLOCK_BYTES + (4 << 20), "the rest is one number or two a candidate and a token"


def test_a_candidate_that_is_larger_than_a_block_is_compared_as_a_whole() -> None:
    rng = np.random.default_rng(0)
    query, short, long = (embeddings_of(rng.normal(size=(n, 4)).astype(np.float32)) for n in (3, 2, 50))
    candidates = [short, long, short, short]
    forward, backward = best_match_means(query, candidates, block_bytes=4 * 4 * 5)
    looped = [in_a_loop(query, candidate) for candidate in candidates]
    assert forward == pytest.approx([means[0] for means in looped], abs=1e-6)
    assert backward == pytest.approx([means[1] for means in looped], abs=1e-6)
