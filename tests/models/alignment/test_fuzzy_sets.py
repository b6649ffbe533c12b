"""The fuzzy-set measures compared with plain loops, and where sets are empty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import hypot, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.catalogue import explainable, similarity
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.text import TokenizedText
from tests.support.token_matrices import bytes_of, embeddings_of, token_embeddings

DYNAMAX = ["dynamax_jaccard", "dynamax_otsuka", "dynamax_dice", "dynamax_cosine"]
MAX_POOLED = ["max_pooled_jaccard", "max_pooled_cosine"]
WORDS = ["set_jaccard", "bag_jaccard"]
WITH_PARTS = [*DYNAMAX, *MAX_POOLED]


def score(name: str, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
    return similarity(name).score(a, b)


@st.composite
def whole_numbers(draw: st.DrawFn) -> TokenEmbeddings:
    """Vectors and weights whose products sum exactly in any order, so that ties are exact."""
    drawn = bytes_of(draw, draw(st.integers(1, 5)), 4)
    weights = np.array([1, 2, 0.5, 0], np.float32)[drawn[:, 0] % 4]
    return embeddings_of(drawn[:, 1:].astype(np.float32) % 7 - 3, weights=weights)


def words(*ids: int, special: tuple[int, ...] = ()) -> TokenEmbeddings:
    """A text of these token ids; `special` lists positions."""
    n = len(ids)
    places = np.array([-1 if i in special else i for i in range(n)], np.int32)
    tokens = TokenizedText("", np.array(ids, np.int32), np.zeros((n, 2), np.int32), places)
    return TokenEmbeddings(np.zeros((n, 2), np.float32), np.ones(n, np.float32), tokens)


token_ids = st.lists(st.integers(0, 4), max_size=7)


def rows_of(embeddings: TokenEmbeddings) -> list[list[float]]:
    return [
        [float(weight) * float(value) for value in vector]
        for weight, vector in zip(embeddings.weights, embeddings.vectors, strict=True)
    ]


def product(u: list[float], v: list[float]) -> float:
    return sum(p * q for p, q in zip(u, v, strict=True))


def slow_memberships(rows: list[list[float]], universe: list[list[float]]) -> list[tuple[float, int]]:
    """For each element: the membership, and the first token that attains it."""
    memberships = []
    for element in universe:
        best, token = -np.inf, 0
        for i, row in enumerate(rows):
            if product(row, element) > best:
                best, token = product(row, element), i
        memberships.append((max(0.0, best), token))
    return memberships


def divide(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0 else 0.0


FORMULAS: dict[str, Callable[[list[float], list[float]], list[float]]] = {
    "jaccard": lambda a, b: [divide(min(p, q), sum(map(max, a, b))) for p, q in zip(a, b, strict=True)],
    "otsuka": lambda a, b: [divide(min(p, q), sqrt(sum(a) * sum(b))) for p, q in zip(a, b, strict=True)],
    "dice": lambda a, b: [divide(2 * min(p, q), sum(a) + sum(b)) for p, q in zip(a, b, strict=True)],
    "cosine": lambda a, b: [divide(p * q, hypot(*a) * hypot(*b)) for p, q in zip(a, b, strict=True)],
}


def slow_parts(name: str, a: TokenEmbeddings, b: TokenEmbeddings) -> list[list[float]]:
    """(n, m) the parts of a fuzzy measure; they sum to its score."""
    x, y = rows_of(a), rows_of(b)
    universe, formula = name.rsplit("_", 1)
    elements = x + y if universe == "dynamax" else np.eye(a.vectors.shape[1]).tolist()
    left, right = slow_memberships(x, elements), slow_memberships(y, elements)
    grid = [[0.0] * len(y) for _ in x]
    shares = FORMULAS[formula]([degree for degree, _ in left], [degree for degree, _ in right])
    for share, (_, i), (_, j) in zip(shares, left, right, strict=True):
        grid[i][j] += share
    return grid


def slow_soft_jaccard(a: TokenEmbeddings, b: TokenEmbeddings) -> float:
    x, y = ([tuple(row) for row in rows_of(side) if any(row)] for side in (a, b))
    union = [element for element in dict.fromkeys(x + y) for _ in range(max(x.count(element), y.count(element)))]

    def size(bag: list[tuple[float, ...]]) -> float:
        return sum(1 / sum(max(0.0, product([*s], [*t]) / (hypot(*s) * hypot(*t))) for s in bag) for t in bag)

    return divide(size(x) + size(y) - size(union), size(union))


@pytest.mark.parametrize("name", WITH_PARTS)
@given(a=whole_numbers(), b=whole_numbers())
def test_scores_and_parts_are_those_of_loops_ties_go_lowest(name: str, a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    expected = slow_parts(name, a, b)
    assert score(name, a, b) == pytest.approx(sum(map(sum, expected)), abs=1e-9)
    assert explainable(name).explain(a, b).contribution == pytest.approx(np.array(expected), abs=1e-12)


@given(a=whole_numbers(), b=whole_numbers())
def test_soft_cardinality_agrees_with_plain_loops(a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    assert score("soft_cardinality", a, b) == pytest.approx(slow_soft_jaccard(a, b), abs=1e-9)


@given(left=token_ids, right=token_ids)
def test_word_sets_and_bags_agree_with_python(left: list[int], right: list[int]) -> None:
    a, b = words(*left), words(*right)
    sets, bags = (set(left), set(right)), (Counter(left), Counter(right))
    assert score("set_jaccard", a, b) == pytest.approx(divide(len(sets[0] & sets[1]), len(sets[0] | sets[1])))
    assert score("bag_jaccard", a, b) == pytest.approx(divide((bags[0] & bags[1]).total(), (bags[0] | bags[1]).total()))


@pytest.mark.parametrize("name", [*WITH_PARTS, "soft_cardinality"])
@given(a=token_embeddings())
def test_an_empty_fuzzy_set_scores_0(name: str, a: TokenEmbeddings) -> None:
    nothing = embeddings_of(np.zeros((2, 4), np.float32))
    assert score(name, a, nothing) == score(name, nothing, a) == score(name, nothing, nothing) == 0


@pytest.mark.parametrize("name", WORDS)
def test_texts_without_words_score_0_special_tokens_do_not_count(name: str) -> None:
    for empty in (words(), words(1, 2, special=(0, 1))):
        assert score(name, words(1, 2), empty) == score(name, empty, words(1, 2)) == score(name, empty, empty) == 0
    assert score(name, words(1, 5, 2, special=(0, 2)), words(1, 5, 6, 2, special=(0, 3))) == 1 / 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("set_jaccard", [[0, 1 / 4, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]),
        ("bag_jaccard", [[0, 1 / 5, 0, 0], [0, 0, 0, 0], [0, 0, 1 / 5, 0]]),
    ],
)
def test_shared_words_are_linked_in_order_of_occurrence(name: str, expected: list[list[float]]) -> None:
    explanation = explainable(name).explain(words(7, 8, 7), words(9, 7, 7, 5))
    assert explanation.contribution == pytest.approx(np.array(expected), abs=1e-12)
    assert explanation.similarity.tolist() == [[0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 1, 0]]


@pytest.mark.parametrize("name", WORDS)
def test_measures_of_words_reject_embeddings_without_text(name: str) -> None:
    vectors = TokenEmbeddings(np.ones((1, 2), np.float32), np.ones(1, np.float32))
    for a, b in ((vectors, words(1)), (words(1), vectors)):
        with pytest.raises(ValueError, match="by their text, but these embeddings have none"):
            score(name, a, b)
