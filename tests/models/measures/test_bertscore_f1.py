"""BERTScore compared with a loop over tokens, and where the paper's quotient is undefined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.catalogue import explainable, similarity
from semblance.models.embeddings import Doubles, TokenEmbeddings
from tests.support.plain_measures import one_way, plain_cosines
from tests.support.token_matrices import embeddings_of, token_embeddings


def plain_parts(a: TokenEmbeddings, b: TokenEmbeddings) -> Doubles:
    """(n, m) the parts of F, one token at a time."""
    precision, recall = one_way(a, b, special=False), one_way(b, a, special=False)
    if precision <= 0 or recall <= 0:
        return np.zeros((len(a), len(b)))
    return (recall * best(a, b) + precision * best(b, a).T) / (precision + recall)


def best(a: TokenEmbeddings, b: TokenEmbeddings) -> Doubles:
    """(n, m) the best cosine of each counted token of `a`, divided by their number."""
    assert a.text is not None
    own = [i for i in range(len(a)) if not a.text.special[i]] or list(range(len(a)))
    cosines, parts = plain_cosines(a, b), np.zeros((len(a), len(b)))
    for i in own:
        partner = int(np.argmax(cosines[i]))
        parts[i, partner] = cosines[i, partner] / len(own)
    return parts


def without_ties(texts: tuple[TokenEmbeddings, ...], seed: int) -> list[TokenEmbeddings]:
    """Texts with the same special tokens, and random vectors, so that no two cosines are equal."""
    rng = np.random.default_rng(seed)
    vectors = [rng.normal(size=text.vectors.shape).astype(np.float32) for text in texts]
    return [replace(text, vectors=each) for text, each in zip(texts, vectors, strict=True)]


@given(a=token_embeddings(), b=token_embeddings(), seed=st.integers(0, 2**32 - 1))
def test_parts_and_special_share_agree_with_a_loop(a: TokenEmbeddings, b: TokenEmbeddings, seed: int) -> None:
    a, b = without_ties((a, b), seed)
    measure = explainable("bertscore_f1")
    assert a.text is not None
    assert b.text is not None
    explanation, parts = measure.explain(a, b), plain_parts(a, b)
    own = parts[np.ix_(~a.text.special, ~b.text.special)]
    assert explanation.contribution == pytest.approx(own, abs=1e-6)
    assert explanation.special == pytest.approx(parts.sum() - own.sum(), abs=1e-6)


@pytest.mark.parametrize("other", [[[-1.0, 0.0]], [[0.0, 1.0]], [[0.1, 1.0], [-1.0, 0.05]], [[0.6, 0.8], [-0.6, 0.8]]])
def test_the_score_is_0_unless_both_means_are_positive(other: list[list[float]]) -> None:
    """The quotient is arbitrary otherwise: 2 P R / (P + R) of the third case is 0.26, above P."""
    a, b = embeddings_of(np.array([[1.0, 0.0]], np.float32)), embeddings_of(np.array(other, np.float32))
    assert [similarity("bertscore_f1").score(*pair) for pair in ((a, b), (b, a))] == pytest.approx([0, 0], abs=1e-7)


def test_embeddings_without_text_are_rejected() -> None:
    complete = embeddings_of(np.eye(2, dtype=np.float32))
    without_text = TokenEmbeddings(complete.vectors, complete.weights)
    with pytest.raises(ValueError, match="which tokens are special"):
        similarity("bertscore_f1").score(complete, without_text)
