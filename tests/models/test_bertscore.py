"""BERTScore against a loop over tokens, and where the paper's quotient says nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from benchmarks.plain_measures import plain_cosine
from models.catalogue import similarity
from models.embeddings import Doubles, TokenEmbeddings
from models.protocols import Explainable
from tests.contracts.token_matrices import embeddings_of, token_embeddings


def in_a_loop(a: TokenEmbeddings, b: TokenEmbeddings) -> tuple[float, float, float, Doubles]:
    """P, R, F and the parts of F, one token after another."""
    precision, of_left = one_way(a, b)
    recall, of_right = one_way(b, a)
    if precision <= 0 or recall <= 0:
        return precision, recall, 0.0, np.zeros_like(of_left)
    both = precision + recall
    return (
        precision,
        recall,
        2 * precision * recall / both,
        of_left * recall / both + of_right.T * precision / both,
    )


def one_way(a: TokenEmbeddings, b: TokenEmbeddings) -> tuple[float, Doubles]:
    assert a.text is not None
    own = [i for i in range(len(a)) if not a.text.special[i]] or list(range(len(a)))
    parts = np.zeros((len(a), len(b)))
    for i in own:
        cosines = [plain_cosine(a.vectors[i].astype(float), y) for y in b.vectors.astype(float)]
        parts[i, int(np.argmax(cosines))] = max(cosines) / len(own)
    return float(parts.sum()), parts


@given(a=token_embeddings(), b=token_embeddings())
def test_the_score_and_what_special_tokens_have_of_it_are_those_of_the_loop(
    a: TokenEmbeddings, b: TokenEmbeddings
) -> None:
    measure = similarity("bertscore_f1")
    assert isinstance(measure, Explainable)
    _, _, expected, parts = in_a_loop(a, b)
    assert measure.score(a, b) == pytest.approx(expected, abs=1e-6)
    explanation = measure.explain(a, b)
    assert a.text is not None
    assert b.text is not None
    touched = a.text.special[:, None] | b.text.special[None, :]
    # two partners may tie but for rounding, and then swap; what they add up to stays
    assert explanation.special + explanation.contribution.sum() == pytest.approx(parts.sum(), abs=1e-6)
    if not touched.any():
        assert explanation.special == 0.0


def test_special_tokens_count_in_no_mean_but_can_be_matched() -> None:
    """Worked by hand: P is of the second left token alone, and its best match is the special right one."""
    a = embeddings_of(np.array([[1.0, 0.0], [0.0, 1.0]]), special=[True, False])
    b = embeddings_of(np.array([[0.0, 2.0], [3.0, 4.0]]), special=[True, False])
    measure = similarity("bertscore_f1")
    assert isinstance(measure, Explainable)
    precision, recall = 1.0, 0.8
    assert measure.score(a, b) == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-6)
    explanation = measure.explain(a, b)
    assert explanation.special == pytest.approx(precision * recall / (precision + recall), abs=1e-6)
    assert explanation.contribution == pytest.approx(np.array([[recall * precision / (precision + recall)]]), abs=1e-6)
    assert measure.score(b, a) == pytest.approx(measure.score(a, b), abs=1e-9)


@pytest.mark.parametrize(
    ("a", "b", "precision", "recall"),
    [
        ([[1.0, 0.0]], [[-1.0, 0.0]], -1.0, -1.0),
        ([[1.0, 0.0]], [[0.0, 1.0]], 0.0, 0.0),
        ([[1.0, 0.0]], [[0.1, 1.0], [-1.0, 0.05]], 0.0995, -0.4496),
        ([[1.0, 0.0]], [[0.6, 0.8], [-0.6, 0.8]], 0.6, 0.0),
        ([[0.0, 0.0]], [[1.0, 1.0]], 0.0, 0.0),
    ],
)
def test_where_a_mean_is_not_positive_the_score_is_nothing(
    a: list[list[float]], b: list[list[float]], precision: float, recall: float
) -> None:
    """The paper's quotient would be undefined, or anything: 2 P R / (P + R) of the third is 0.26, above P."""
    left, right = embeddings_of(np.array(a, np.float32)), embeddings_of(np.array(b, np.float32))
    looped = in_a_loop(left, right)
    assert looped[0] == pytest.approx(precision, abs=1e-3)
    assert looped[1] == pytest.approx(recall, abs=1e-3)
    for score in (similarity("bertscore_f1").score(left, right), similarity("bertscore_f1").score(right, left)):
        assert score == pytest.approx(0.0, abs=1e-7)


def test_vectors_that_forgot_their_text_are_refused() -> None:
    known = embeddings_of(np.eye(2, dtype=np.float32))
    forgotten = TokenEmbeddings(known.vectors, known.weights)
    with pytest.raises(ValueError, match="which tokens are special"):
        similarity("bertscore_f1").score(known, forgotten)
