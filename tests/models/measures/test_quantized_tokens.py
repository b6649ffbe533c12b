"""Token codes: how far off they are, and that they are refused where they are none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models import catalogue
from semblance.models.embeddings import TokenEmbeddings, unit_rows
from semblance.models.measures.quantized_tokens import decode_many, decode_tokens, encode_tokens
from semblance.models.measures.ragged import StackedTexts, stacked_vectors
from tests.support.plain_measures import plain_cosines
from tests.support.token_matrices import token_embeddings

MEANS_OF_COSINES = ["cmd", "rcmd", "rcmd1", "rcmd2"]
ROUNDING = 1e-6  # of the scores themselves, in float32


@pytest.mark.parametrize("name", MEANS_OF_COSINES)
@given(query=token_embeddings(), document=token_embeddings())
def test_a_score_from_codes_is_off_by_no_more_than_they_say(
    name: str, query: TokenEmbeddings, document: TokenEmbeddings
) -> None:
    codes, error = encode_tokens(document)
    score = catalogue.similarity(name).score
    assert abs(score(query, decode_tokens(codes)) - score(query, document)) <= error + ROUNDING


@given(query=token_embeddings(), document=token_embeddings())
def test_so_is_every_cosine(query: TokenEmbeddings, document: TokenEmbeddings) -> None:
    codes, error = encode_tokens(document)
    moved = np.abs(plain_cosines(query, decode_tokens(codes)) - plain_cosines(query, document))
    assert moved.max() <= error + ROUNDING


def test_the_bound_is_reached_by_a_vector_along_the_error() -> None:
    """So it cannot be any lower."""
    document = TokenEmbeddings(
        np.random.default_rng(0).normal(size=(20, 384)).astype(np.float32), np.ones(20, np.float32)
    )
    codes, error = encode_tokens(document)
    read = decode_tokens(codes)
    along = (unit_rows(read.vectors) - unit_rows(document.vectors)).astype(np.float32)
    errors = TokenEmbeddings(along, np.ones(20, np.float32))
    moved = plain_cosines(errors, read) - plain_cosines(errors, document)
    assert np.diag(moved).max() == pytest.approx(error, rel=1e-3)
    assert error < 0.02


@given(texts=st.lists(token_embeddings(), max_size=6), start=st.integers(-7, 7), stop=st.integers(-7, 7))
def test_neighbours_among_many_are_stacked_too(texts: list[TokenEmbeddings], start: int, stop: int) -> None:
    many = decode_many([encode_tokens(text)[0] for text in texts])
    some = many[start:stop]
    plain = list(many)[start:stop]
    assert len(some) == len(plain)
    assert isinstance(some, StackedTexts)
    assert some.vectors.tolist() == [row for text in plain for row in text.vectors.tolist()]
    assert np.shares_memory(some.vectors, many.vectors) == bool(plain)
    assert [text.vectors.tolist() for text in many[::-1]] == [text.vectors.tolist() for text in reversed(list(many))]


@given(texts=st.lists(token_embeddings(), max_size=5))
def test_many_are_read_as_each_alone(texts: list[TokenEmbeddings]) -> None:
    codes = [encode_tokens(text)[0] for text in texts]
    many = decode_many(codes)
    assert len(many) == len(texts)
    assert stacked_vectors(many).tolist() == [row for code in codes for row in decode_tokens(code).vectors.tolist()]
    for text, code, together in zip(texts, codes, many, strict=True):
        alone = decode_tokens(code)
        assert (together.vectors == alone.vectors).all()
        assert together.weights.tolist() == alone.weights.tolist() == text.weights.tolist()
        longest = np.abs(text.vectors).max(axis=1, keepdims=True)
        assert (np.abs(together.vectors - text.vectors) <= longest / 254 * 1.001).all(), "half a step of 127"


def test_what_is_no_code_is_refused() -> None:
    codes, _ = encode_tokens(TokenEmbeddings(np.ones((2, 3), np.float32), np.ones(2, np.float32)))
    for broken in (b"", codes[:5], b"X" + codes[1:], codes[:-1], codes + b"\0"):
        with pytest.raises(ValueError, match="token codes"):
            decode_many([codes, broken])
    other, _ = encode_tokens(TokenEmbeddings(np.ones((2, 4), np.float32), np.ones(2, np.float32)))
    with pytest.raises(ValueError, match="several lengths"):
        decode_many([codes, other])
