"""Token codes: error bounds, batches and invalid bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.alignment.quantized_tokens import dequantize, dequantize_many, quantize
from semblance.models.alignment.ragged import RaggedTexts, concatenated_vectors
from semblance.models.alignment.token_matches import own_tokens
from semblance.models.catalogue import similarity
from semblance.models.embeddings import TokenEmbeddings, unit_rows
from tests.support.plain_measures import plain_cosines
from tests.support.token_matrices import token_embeddings

MEANS_OF_COSINES = ["cmd", "rcmd", "rcmd1", "rcmd2"]
ROUNDING = 1e-6  # of the scores themselves, in float32


@given(query=token_embeddings(), document=token_embeddings())
def test_the_reported_error_bounds_that_of_cosines_and_scores(
    query: TokenEmbeddings, document: TokenEmbeddings
) -> None:
    codes, error = quantize(document)
    read = dequantize(codes)
    moved = np.abs(plain_cosines(query, read) - plain_cosines(query, document))
    assert moved.max() <= error + ROUNDING
    for name in MEANS_OF_COSINES:
        score = similarity(name).score
        assert abs(score(query, read) - score(query, document)) <= error + ROUNDING


def test_the_error_bound_is_tight() -> None:
    """A vector along the quantization error attains the bound."""
    document = TokenEmbeddings(
        np.random.default_rng(0).normal(size=(20, 384)).astype(np.float32), np.ones(20, np.float32)
    )
    codes, error = quantize(document)
    read = dequantize(codes)
    along = (unit_rows(read.vectors) - unit_rows(document.vectors)).astype(np.float32)
    errors = TokenEmbeddings(along, np.ones(20, np.float32))
    moved = plain_cosines(errors, read) - plain_cosines(errors, document)
    assert np.diag(moved).max() == pytest.approx(error, rel=1e-3)
    assert error < 0.02


@given(text=token_embeddings())
def test_codes_mark_special_tokens_and_are_else_the_same(text: TokenEmbeddings) -> None:
    assert text.text is not None
    marked, plain = (dequantize(quantize(each)[0]) for each in (text, replace(text, text=None)))
    assert marked.vectors.tolist() == plain.vectors.tolist()
    assert plain.special is None
    if text.text.special.any():
        assert marked.special is not None
        assert marked.special.tolist() == text.text.special.tolist()
        assert own_tokens(marked).tolist() == own_tokens(text).tolist()
    else:
        assert marked.special is None


@given(texts=st.lists(token_embeddings(), max_size=6), start=st.integers(-7, 7), stop=st.integers(-7, 7))
def test_slices_of_ragged_texts_share_their_memory(texts: list[TokenEmbeddings], start: int, stop: int) -> None:
    many = dequantize_many([quantize(text)[0] for text in texts])
    some = many[start:stop]
    plain = list(many)[start:stop]
    assert len(some) == len(plain)
    assert isinstance(some, RaggedTexts)
    assert some.vectors.tolist() == [row for text in plain for row in text.vectors.tolist()]
    assert np.shares_memory(some.vectors, many.vectors) == bool(plain)
    assert [text.vectors.tolist() for text in many[::-1]] == [text.vectors.tolist() for text in reversed(list(many))]


@given(texts=st.lists(token_embeddings(), max_size=5))
def test_batch_dequantization_agrees_with_single(texts: list[TokenEmbeddings]) -> None:
    codes = [quantize(text)[0] for text in texts]
    many = dequantize_many(codes)
    assert len(many) == len(texts)
    assert concatenated_vectors(many).tolist() == [row for code in codes for row in dequantize(code).vectors.tolist()]
    for text, code, together in zip(texts, codes, many, strict=True):
        alone = dequantize(code)
        assert (together.vectors == alone.vectors).all()
        assert together.weights.tolist() == alone.weights.tolist() == text.weights.tolist()
        longest = np.abs(text.vectors).max(axis=1, keepdims=True)
        assert (np.abs(together.vectors - text.vectors) <= longest / 254 * 1.001).all(), "half a quantization step"


def test_invalid_token_codes_are_rejected() -> None:
    codes, _ = quantize(TokenEmbeddings(np.ones((2, 3), np.float32), np.ones(2, np.float32)))
    for broken in (b"", codes[:5], b"X" + codes[1:], codes[:-1], codes + b"\0"):
        with pytest.raises(ValueError, match="token codes"):
            dequantize_many([codes, broken])
    other, _ = quantize(TokenEmbeddings(np.ones((2, 4), np.float32), np.ones(2, np.float32)))
    with pytest.raises(ValueError, match="several dimensions"):
        dequantize_many([codes, other])
