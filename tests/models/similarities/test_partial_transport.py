"""Partial transport compared with a linear program, and what it leaves unaligned."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

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


def test_words_without_a_counterpart_stay_unaligned() -> None:
    """Exact transport links all four words; here the unrelated ones keep their mass."""
    a, b = words("cat bank", [[1, 0, 0], [0, 1, 0]]), words("kitten rain", [[4, 3, 0], [0, 0, 1]])
    assert parts_of("partial_transport", a, b) == pytest.approx(np.array([[0.4, 0.0], [0.0, 0.0]]), abs=1e-7)
    assert similarity("partial_transport").score(a, b) == pytest.approx(0.4)


def test_words_at_the_threshold_do_not_move() -> None:
    for cosine, score in ((0.49, 0.0), (0.51, 0.51)):
        a, b = words("cat", [[1, 0]]), words("dog", [[cosine, (1 - cosine**2) ** 0.5]])
        assert similarity("partial_transport").score(a, b) == pytest.approx(score, abs=1e-6)


def test_repeated_words_move_once() -> None:
    """Of three equal words against one, all move a third; of one against three, each takes a third."""
    a, b = words("no no no", [[1, 0]] * 3), words("no yes", [[1, 0], [0, 1]])
    assert similarity("partial_transport").score(a, b) == pytest.approx(0.5)
    assert parts_of("partial_transport", a, b)[:, 1].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", ["partial_transport", "unbalanced_transport"])
@given(a=token_embeddings(), b=token_embeddings(), seed=st.integers(0, 100))
def test_special_tokens_do_not_count(name: str, a: TokenEmbeddings, b: TokenEmbeddings, seed: int) -> None:
    assert a.text is not None
    other = np.random.default_rng(seed).normal(size=a.vectors.shape).astype(np.float32)
    special = a.text.special
    changed = TokenEmbeddings(np.where(special[:, None], other, a.vectors), a.weights, a.text)
    assert similarity(name).score(changed, b) == similarity(name).score(a, b)


@pytest.mark.parametrize("name", ["partial_transport", "unbalanced_transport"])
def test_texts_of_special_tokens_only_score_0(name: str) -> None:
    special, plain = (embeddings_of(np.ones((2, 3), np.float32), [marked] * 2) for marked in (True, False))
    for a, b in ((special, plain), (plain, special), (special, special)):
        assert similarity(name).score(a, b) == 0.0
        assert not parts_of(name, a, b).any()
