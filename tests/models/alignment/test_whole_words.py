"""Vectors of words: means of their tokens, and parts of words divided among tokens."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from semblance.models.alignment.whole_words import Words, by_token, spread_evenly
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.text import TokenizedText
from tests.support.token_matrices import embeddings_of, token_embeddings


def test_words_are_means_of_their_tokens_without_special_ones() -> None:
    """[CLS] Ice cream [SEP] NOW, with two tokens in the first word."""
    spans = np.array([(0, 0), (0, 3), (4, 9), (0, 0), (10, 13)], np.int32)
    text = TokenizedText("Ice cream NOW", np.arange(5, dtype=np.int32), spans, np.array([-1, 0, 0, -1, 4], np.int32))
    vectors = np.array([[9, 9], [1, 0], [0, 1], [9, 9], [0, -3]], np.float32)
    words = Words.of(TokenEmbeddings(vectors, np.ones(5, np.float32), text))
    assert words.forms == ("ice cream", "now")
    assert words.word_of.tolist() == [-1, 0, 0, -1, 1]
    assert words.directions == pytest.approx(np.array([[0.5**0.5, 0.5**0.5], [0, -1]]))
    assert words.cosines(words)[0, 1] == pytest.approx(-(0.5**0.5))


def test_zero_vectors_have_no_direction() -> None:
    words = Words.of(embeddings_of(np.zeros((2, 3), np.float32)))
    assert words.cosines(words).tolist() == [[0.0]]


def test_special_tokens_alone_are_no_words() -> None:
    words = Words.of(embeddings_of(np.ones((2, 3), np.float32), [True, True]))
    assert len(words) == 0
    assert by_token(np.zeros((0, 0)), words, words).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_words_need_their_text() -> None:
    with pytest.raises(ValueError, match="these embeddings have no text"):
        Words.of(TokenEmbeddings(np.ones((1, 2), np.float32), np.ones(1, np.float32)))


@given(a=token_embeddings(), b=token_embeddings())
def test_spread_parts_keep_their_sums(a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    left, right = Words.of(a), Words.of(b)
    parts = np.random.default_rng(0).normal(size=(len(left), len(right)))
    spread, repeated = spread_evenly(parts, left, right), by_token(parts, left, right)
    assert spread.shape == (len(a), len(b))
    for i in range(len(left)):
        for j in range(len(right)):
            own = np.ix_(left.word_of == i, right.word_of == j)
            assert spread[own].sum() == pytest.approx(parts[i, j])
            assert np.ptp(spread[own]) == 0
            assert (repeated[own] == parts[i, j]).all()
    for matrix in (spread, repeated):
        assert not matrix[left.word_of < 0].any()
        assert not matrix[:, right.word_of < 0].any()
