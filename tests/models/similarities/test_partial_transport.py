"""Partial transport compared with a linear program, and what it leaves unaligned."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given

from semblance.models.catalogue import similarity
from semblance.models.embeddings import TokenEmbeddings
from tests.support.plain_measures import most_gain
from tests.support.token_matrices import embeddings_of, token_embeddings
from tests.support.word_texts import by_words, parts_of, plain_word_cosines, words


@given(a=token_embeddings(), b=token_embeddings())
def test_the_score_agrees_with_a_linear_program(a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    """The gain is that of the program; its score is the gain plus the threshold for all mass that moved."""
    cosines = plain_word_cosines(a, b)
    assume(cosines.size)
    assume((np.abs(cosines - 0.5) > 1e-6).all())
    plan = np.divide(
        word_parts := by_words(parts_of("partial_transport", a, b), a, b),
        cosines,
        out=np.zeros_like(cosines),
        where=word_parts > 0,
    )
    n, m = cosines.shape
    assert (plan.sum(axis=1) <= 1 / n + 1e-6).all()
    assert (plan.sum(axis=0) <= 1 / m + 1e-6).all()
    assert float((plan * (cosines - 0.5)).sum()) == pytest.approx(most_gain(cosines - 0.5), abs=1e-6)
    assert similarity("partial_transport").score(a, b) == pytest.approx(float((plan * cosines).sum()), abs=1e-6)


def test_words_at_the_threshold_do_not_move() -> None:
    for cosine, score in ((0.49, 0.0), (0.51, 0.51)):
        a, b = words("cat", [[1, 0]]), words("dog", [[cosine, (1 - cosine**2) ** 0.5]])
        assert similarity("partial_transport").score(a, b) == pytest.approx(score, abs=1e-6)


@pytest.mark.parametrize("name", ["partial_transport", "unbalanced_transport"])
def test_texts_of_special_tokens_only_score_0(name: str) -> None:
    special, plain = (embeddings_of(np.ones((2, 3), np.float32), [marked] * 2) for marked in (True, False))
    for a, b in ((special, plain), (plain, special), (special, special)):
        assert similarity(name).score(a, b) == 0.0
        assert not parts_of(name, a, b).any()
