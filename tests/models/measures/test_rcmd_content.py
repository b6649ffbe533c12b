"""Measures of content words: function words and punctuation have a tenth of the mass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.catalogue import explainable, similarity
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.measures.rcmd1_content import Rcmd1Content
from semblance.models.measures.rcmd_content import RcmdContent
from semblance.models.text import TokenizedText
from tests.support.plain_measures import plain_cosines, without_special

CONTENT = ("parcel", "not", "5", "Berlin", "🙂", "came")
FUNCTION = ("the", "Of", ",", "is", "?")


@st.composite
def texts(draw: st.DrawFn, words: tuple[str, ...] = CONTENT + FUNCTION) -> tuple[TokenEmbeddings, list[float]]:
    """A text between two special tokens, with up to three tokens a word, and the mass of each token."""
    chosen = draw(st.lists(st.sampled_from(words), min_size=1, max_size=6))
    sizes = [draw(st.integers(1, 3)) for _ in chosen]
    ends = np.cumsum([len(word) + 1 for word in chosen]) - 1
    numbers = np.array([-1, *np.repeat(np.arange(len(chosen)), sizes), -1], np.int32)
    spans = np.stack([ends - [len(word) for word in chosen], ends], axis=1)[numbers]
    spans[numbers < 0] = 0
    tokens = TokenizedText(" ".join(chosen), np.arange(len(numbers), dtype=np.int32), spans.astype(np.int32), numbers)
    vectors = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).normal(size=(len(numbers), 4)).astype(np.float32)
    masses = [0.1 if word in FUNCTION else 1.0 for word, size in zip(chosen, sizes, strict=True) for _ in range(size)]
    return TokenEmbeddings(vectors, np.ones(len(numbers), np.float32), tokens), masses


def plain_one_way(a: TokenEmbeddings, b: TokenEmbeddings, masses: list[float]) -> float:
    best: list[float] = plain_cosines(without_special(a), without_special(b)).max(axis=1).tolist()
    return sum(mass * value for mass, value in zip(masses, best, strict=True)) / sum(masses)


@given(left=texts(), right=texts())
def test_scores_are_means_by_mass(
    left: tuple[TokenEmbeddings, list[float]], right: tuple[TokenEmbeddings, list[float]]
) -> None:
    (a, of_a), (b, of_b) = left, right
    forward, backward = plain_one_way(a, b, of_a), plain_one_way(b, a, of_b)
    assert Rcmd1Content().score(a, b) == pytest.approx(forward, abs=1e-5)
    assert RcmdContent().score(a, b) == pytest.approx((forward + backward) / 2, abs=1e-5)
    assert RcmdContent().score_matrix([a, b], [b, a])[0, 0] == pytest.approx((forward + backward) / 2, abs=1e-5)


@given(left=texts(), right=texts())
def test_rows_of_an_explanation_have_their_mass(
    left: tuple[TokenEmbeddings, list[float]], right: tuple[TokenEmbeddings, list[float]]
) -> None:
    (a, of_a), (b, _) = left, right
    explained = Rcmd1Content().explain(a, b)
    best = plain_cosines(without_special(a), without_special(b)).max(axis=1)
    assert explained.contribution.sum(axis=1) == pytest.approx(np.array(of_a) / sum(of_a) * best, abs=1e-5)
    assert explained.contribution.sum() == pytest.approx(explained.score, abs=1e-6)
    assert explained.special == 0


@pytest.mark.parametrize("words", [CONTENT, FUNCTION])
@given(data=st.data())
def test_words_of_one_kind_score_as_without_masses(words: tuple[str, ...], data: st.DataObject) -> None:
    (a, _), (b, _) = data.draw(texts(words)), data.draw(texts(words))
    for content, plain in (("rcmd_content", "rcmd_words"), ("rcmd1_content", "rcmd1_words")):
        assert similarity(content).score(a, b) == pytest.approx(similarity(plain).score(a, b), abs=1e-6)
        found, expected = (explainable(name).explain(a, b).contribution for name in (content, plain))
        assert found == pytest.approx(expected, abs=1e-6)
