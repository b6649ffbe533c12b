"""Transport between words: unbalanced compared with plain loops, and partial with a linear program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings

from semblance.models.catalogue import similarity
from semblance.models.embeddings import Doubles, TokenEmbeddings
from tests.support.plain_measures import most_gain
from tests.support.token_matrices import embeddings_of, token_embeddings
from tests.support.word_texts import by_words, parts_of, plain_word_cosines, words


def plain_forms(a: TokenEmbeddings) -> list[str]:
    assert a.text is not None
    numbers = sorted({int(number) for number in a.text.words} - {-1})
    spans = [a.text.spans[a.text.words == number] for number in numbers]
    return [a.text.text[min(each[:, 0]) : max(each[:, 1])].lower() for each in spans]


def plain_plan(gain: Doubles) -> Doubles:
    """The scaling iterations in logarithms, many of them."""
    left, right = np.zeros(len(gain)), np.zeros(gain.shape[1])
    share = 0.45 / (0.45 + 0.15)
    for _ in range(300):
        left = -share * np.log(np.exp(gain / 0.15 + right).sum(axis=1))
        right = -share * np.log(np.exp(gain / 0.15 + left[:, None]).sum(axis=0))
    plan: Doubles = np.exp(gain / 0.15 + left[:, None] + right)
    return plan


def plain_gain(
    cosines: Doubles, left: Sequence[str], right: Sequence[str], mu: float, moved: Doubles | None = None
) -> Doubles:
    n, m = cosines.shape
    gain = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            support = 0.0
            for k in range(n):
                for q in range(m):
                    same_side = (k < i and q < j) or (k > i and q > j)
                    if moved is not None and same_side and abs(i - k) <= 4 and abs(j - q) <= 4:
                        support += min(moved[k, q], 1.0) / (abs(i - k) + abs(j - q) - 1)
            apart = abs((i + 0.5) / n - (j + 0.5) / m)
            gain[i, j] = (
                (cosines[i, j] - mu) / (1 - mu) - 0.3 + 0.1 * (left[i] == right[j]) - 0.1 * apart + 0.1 * support
            )
    return gain


def plain_transport(a: TokenEmbeddings, b: TokenEmbeddings, mu: float) -> Doubles:
    cosines, forms = plain_word_cosines(a, b), (plain_forms(a), plain_forms(b))
    return plain_plan(plain_gain(cosines, *forms, mu, plain_plan(plain_gain(cosines, *forms, mu))))


def plain_parts(a: TokenEmbeddings, b: TokenEmbeddings) -> tuple[Doubles, float]:
    """The parts, and how close a mass or a cosine is to its threshold, where rounding decides."""
    margins = []
    mu = np.mean([*plain_word_cosines(a, b).ravel(), 0.0])
    own = {(0, 0): plain_transport(a, a, mu), (1, 1): plain_transport(b, b, mu)}
    parts = {}
    for (i, one), (j, other) in [((0, a), (1, b)), ((0, a), (0, a)), ((1, b), (1, b))]:
        plan, cosines = plain_transport(one, other, mu), plain_word_cosines(one, other)
        least = 0.2 * np.sqrt(np.outer(np.diag(own[i, i]), np.diag(own[j, j])))
        margins += [np.abs(plan - least).min(), np.abs(cosines).min()]
        parts[i, j] = np.where((plan >= least) & (cosines > 0), plan * cosines, 0.0)
    largest = max(each.sum() for each in parts.values())
    return parts[0, 1] / largest if largest > 0 else parts[0, 1], min(margins)


@settings(max_examples=15)
@given(a=token_embeddings(), b=token_embeddings())
def test_parts_agree_with_plain_loops(a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    assume(plain_forms(a))
    assume(plain_forms(b))
    parts, margin = plain_parts(a, b)
    assume(margin > 1e-6)
    assert by_words(parts_of("unbalanced_transport", a, b), a, b) == pytest.approx(parts, abs=1e-6)
    assert similarity("unbalanced_transport").score(a, b) == pytest.approx(parts.sum(), abs=1e-6)


def test_parts_of_longer_texts_agree_with_plain_loops() -> None:
    """Of nine words, some neighbors are too far away to count."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(9, 4)) + 0.5
    a = words("no cat sat on no mat by no tree", vectors.tolist())
    b = words("a cat sat on a mat by a tree", (vectors + 0.5 * rng.normal(size=(9, 4))).tolist())
    parts, _ = plain_parts(a, b)
    assert parts_of("unbalanced_transport", a, b) == pytest.approx(parts, abs=1e-6)


@pytest.mark.parametrize(("right", "gain"), [("dog", 0.4 / 0.6 - 0.3), ("Cat", 0.4 / 0.6 - 0.2)])
def test_single_words_have_a_closed_form(right: str, gain: float) -> None:
    """The plan of one pair is exp(gain / (entropy + 2 relaxation)); mu is 0.4, and a word gains 0.8 by itself."""
    score = similarity("unbalanced_transport").score(words("cat", [[1, 0]]), words(right, [[4, 3]]))
    assert score == pytest.approx(0.8 * np.exp((gain - 0.8) / 1.05))


def test_parts_are_divided_among_the_tokens_of_a_word() -> None:
    """Of "ice cream", one word of two tokens, each has half."""
    a, b = words("ice cream", [[1, 0], [1, 0]]), words("gelato", [[1, 0]])
    assert a.text is not None
    a.text.words[:] = 0
    parts = parts_of("unbalanced_transport", a, b)
    assert parts[0, 0] == pytest.approx(parts[1, 0]) == pytest.approx(0.5 * np.exp((0.7 - 0.8) / 1.05))


def test_scores_of_words_between_others_are_at_most_1() -> None:
    """Both words of the right text are nearer to those of the left than these are to each other."""
    a, b = words("b a", [[9, -1], [9, 1]]), words("a b", [[2, 0], [2, 0]])
    assert similarity("unbalanced_transport").score(a, b) == pytest.approx(1.0, abs=1e-12)


def test_rounding_does_not_exceed_1() -> None:
    """The parts of equal texts sum to 1, and by rounding to a little more for two of these."""
    rng, measure = np.random.default_rng(0), similarity("unbalanced_transport")
    for _ in range(25):
        text = words("a b c d e f g h", rng.normal(size=(8, 4)).tolist())
        assert measure.score(text, text) <= 1.0


@given(a=token_embeddings(), b=token_embeddings())
def test_partial_transport_agrees_with_a_linear_program(a: TokenEmbeddings, b: TokenEmbeddings) -> None:
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


@pytest.mark.parametrize("name", ["partial_transport", "unbalanced_transport"])
def test_texts_of_special_tokens_only_score_0(name: str) -> None:
    special, plain = (embeddings_of(np.ones((2, 3), np.float32), [marked] * 2) for marked in (True, False))
    for a, b in ((special, plain), (plain, special), (special, special)):
        assert similarity(name).score(a, b) == 0.0
        assert not parts_of(name, a, b).any()
