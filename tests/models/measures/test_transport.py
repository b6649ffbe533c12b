"""Transport between tokens: laws of the plans, and the measures compared with slow oracles."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from semblance.models.catalogue import similarity
from semblance.models.embeddings import Doubles, TokenEmbeddings
from semblance.models.measures.alignment import cosine_matrix, distance_matrix
from semblance.models.measures.transport import (
    average_pooling_plan,
    column_plan,
    exact_plan,
    partial_plan,
    row_plan,
    unbalanced_plans,
)
from semblance.models.protocols import Explainable
from tests.support.plain_measures import ORACLES, least_cost, most_gain, plain_cosines, plain_distances
from tests.support.token_matrices import bytes_of, embeddings_of, token_embeddings

TRANSPORTS = ("cmd", "rcmd", "rcmd1", "rcmd2", "word_movers", "relaxed_word_movers", "bertscore_f1")


@st.composite
def matrices(draw: st.DrawFn) -> Doubles:
    """(n, m) numbers in [-2, 2]; sometimes integers, so that many tie."""
    drawn = bytes_of(draw, draw(st.integers(1, 7)), draw(st.integers(1, 7)))
    numbers: Doubles = np.round(drawn.view(np.int8) / 64, draw(st.sampled_from([0, 3])))
    return numbers


def cancels(a: TokenEmbeddings, b: TokenEmbeddings) -> bool:
    """Whether the tokens cancel, so that the direction of a pooled vector is rounding noise."""
    return float(average_pooling_plan(a, b).max()) >= 1e3


@given(cost=matrices())
def test_the_exact_plan_moves_all_mass_at_least_cost(cost: Doubles) -> None:
    n, m = cost.shape
    plan = exact_plan(cost)
    assert (plan >= 0).all()
    assert plan.sum(axis=1) == pytest.approx(np.full(n, 1 / n), abs=1e-12)
    assert plan.sum(axis=0) == pytest.approx(np.full(m, 1 / m), abs=1e-12)
    assert float((plan * cost).sum()) == pytest.approx(least_cost(cost), abs=1e-9)


@given(gain=matrices())
def test_the_partial_plan_has_the_largest_gain(gain: Doubles) -> None:
    n, m = gain.shape
    plan = partial_plan(gain)
    assert (plan >= 0).all()
    assert (plan.sum(axis=1) <= 1 / n + 1e-12).all()
    assert (plan.sum(axis=0) <= 1 / m + 1e-12).all()
    assert not plan[gain < 0].any()
    assert float((plan * gain).sum()) == pytest.approx(most_gain(gain), abs=1e-9)


@given(gain=matrices())
def test_the_partial_plan_of_a_square_is_a_matching(gain: Doubles) -> None:
    """With as many rows as columns some matching is optimal; here all of them are tried."""
    size = min(*gain.shape, 4)
    square = gain[:size, :size]
    best = max(
        sum(max(square[i, j], 0.0) for i, j in enumerate(order)) for order in itertools.permutations(range(size))
    )
    assert float((partial_plan(square) * square).sum()) == pytest.approx(best / size, abs=1e-9)


@given(gains=st.lists(matrices(), min_size=1, max_size=3))
def test_unbalanced_plans_are_optimal(gains: list[Doubles]) -> None:
    """At the optimum of this concave problem the derivative by every entry is 0."""
    for plan, gain in zip(unbalanced_plans(gains, 0.15, 0.45), gains, strict=True):
        rows, columns = plan.sum(axis=1, keepdims=True), plan.sum(axis=0)
        derivative = gain - 0.15 * np.log(plan) - 0.45 * (np.log(rows) + np.log(columns))
        assert np.abs(derivative).max() == pytest.approx(0.0, abs=1e-6)


@given(similarity=matrices())
def test_the_relaxed_plans_keep_one_marginal_each(similarity: Doubles) -> None:
    n, m = similarity.shape
    rows, columns = row_plan(similarity), column_plan(similarity)
    assert rows.sum(axis=1) == pytest.approx(np.full(n, 1 / n), abs=1e-12)
    assert columns.sum(axis=0) == pytest.approx(np.full(m, 1 / m), abs=1e-12)
    assert (np.count_nonzero(rows, axis=1) == 1).all()
    assert (np.count_nonzero(columns, axis=0) == 1).all()
    assert (rows * similarity).sum() == pytest.approx(similarity.max(axis=1).mean(), abs=1e-12)
    assert (columns * similarity).sum() == pytest.approx(similarity.max(axis=0).mean(), abs=1e-12)


@given(similarity=matrices(), bits=st.lists(st.booleans(), min_size=7, max_size=7))
def test_uncounted_rows_have_no_mass(similarity: Doubles, bits: list[bool]) -> None:
    counted = np.array(bits[: len(similarity)])
    assume(counted.any())
    plan = row_plan(similarity, counted)
    assert plan.sum(axis=1) == pytest.approx(counted / counted.sum(), abs=1e-12)


@given(a=token_embeddings(), b=token_embeddings())
def test_average_pooling_is_the_rank_one_plan_of_cosine(a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    plan = average_pooling_plan(a, b)
    assert np.linalg.matrix_rank(plan) <= 1
    assume(not cancels(a, b))
    assert float((plan * plain_cosines(a, b)).sum()) == pytest.approx(similarity("cosine").score(a, b), abs=1e-5)


@pytest.mark.parametrize("name", ORACLES)
@given(a=token_embeddings(), b=token_embeddings())
def test_measures_agree_with_their_formulas(name: str, a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    assume(name != "cosine" or not cancels(a, b))
    assert similarity(name).score(a, b) == pytest.approx(ORACLES[name](a, b), abs=1e-5)


@given(a=token_embeddings(), b=token_embeddings())
def test_relaxed_transport_never_costs_more_than_exact_transport(a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    exact = similarity("cmd").score(a, b)
    for name in ("rcmd1", "rcmd2", "rcmd"):
        assert similarity(name).score(a, b) >= exact - 1e-6
    assert similarity("relaxed_word_movers").score(a, b) >= similarity("word_movers").score(a, b) - 1e-9


@given(a=token_embeddings(), b=token_embeddings())
def test_relaxed_word_movers_explains_the_text_with_the_larger_mean(a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    """Each token of exactly one of the texts has exactly one link."""
    measure = similarity("relaxed_word_movers")
    assert isinstance(measure, Explainable)
    a, b = embeddings_of(a.vectors), embeddings_of(b.vectors)
    parts, distances = measure.explain(a, b).contribution, distance_matrix(a, b)
    left, right = distances.min(axis=1), distances.min(axis=0)
    if left.mean() >= right.mean():
        assert parts.sum(axis=1) == pytest.approx(-left / len(a), abs=1e-12)
    else:
        assert parts.sum(axis=0) == pytest.approx(-right / len(b), abs=1e-12)


@given(a=token_embeddings())
def test_identical_texts_have_the_maximum_score(a: TokenEmbeddings) -> None:
    positive = embeddings_of(np.abs(a.vectors) + np.float32(0.01))
    for name in ("cmd", "rcmd", "bertscore_f1"):
        assert similarity(name).score(positive, positive) == pytest.approx(1.0, abs=1e-6)
    for name in ("word_movers", "relaxed_word_movers", "negative_manhattan", "negative_euclidean"):
        assert similarity(name).score(a, a) == 0.0
        assert np.copysign(1.0, similarity(name).score(a, a)) == 1.0, "JSON would show a negative zero"


@pytest.mark.parametrize("tokens", [(256, 256), (512, 511), (1, 512)])
def test_the_solver_converges_on_long_texts(tokens: tuple[int, int]) -> None:
    """A solver that stops early warns, which is an error here, and its plan is not optimal."""
    rng = np.random.default_rng(0)
    x, y = (embeddings_of(rng.normal(size=(n, 64)).astype(np.float32)) for n in tokens)
    assert similarity("cmd").score(x, y) <= similarity("rcmd").score(x, y)
    shuffled = embeddings_of(x.vectors[rng.permutation(len(x))])
    assert similarity("cmd").score(x, shuffled) == pytest.approx(1.0, abs=1e-6)
    assert similarity("word_movers").score(x, shuffled) == pytest.approx(0.0, abs=1e-9)


def rescaled(a: TokenEmbeddings, factors: Doubles) -> TokenEmbeddings:
    return embeddings_of((a.vectors * factors[:, None]).astype(np.float32), special_of(a), a.weights)


def special_of(a: TokenEmbeddings) -> list[bool]:
    assert a.text is not None
    return [bool(special) for special in a.text.special]


@pytest.mark.parametrize("name", ["cmd", "rcmd", "rcmd1", "rcmd2", "bertscore_f1"])
@given(a=token_embeddings(), b=token_embeddings(), seed=st.integers(0, 100))
def test_measures_of_cosines_are_invariant_to_token_lengths(
    name: str, a: TokenEmbeddings, b: TokenEmbeddings, seed: int
) -> None:
    factors = np.random.default_rng(seed).uniform(0.25, 8, len(a))
    assert similarity(name).score(rescaled(a, factors), b) == pytest.approx(similarity(name).score(a, b), abs=2e-5)


@pytest.mark.parametrize("name", TRANSPORTS)
@given(a=token_embeddings(), b=token_embeddings(), seed=st.integers(0, 100))
def test_scores_are_invariant_to_token_order(name: str, a: TokenEmbeddings, b: TokenEmbeddings, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(a))
    special = special_of(a)
    moved = embeddings_of(a.vectors[order], [special[i] for i in order], a.weights[order])
    assert similarity(name).score(moved, b) == pytest.approx(similarity(name).score(a, b), abs=1e-6)


@pytest.mark.parametrize("name", [*TRANSPORTS, "cosine", "negative_euclidean"])
@given(a=token_embeddings(), b=token_embeddings(), seed=st.integers(0, 100))
def test_scores_are_invariant_to_a_common_rotation(
    name: str, a: TokenEmbeddings, b: TokenEmbeddings, seed: int
) -> None:
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(a.vectors.shape[1],) * 2))

    def rotated(x: TokenEmbeddings) -> TokenEmbeddings:
        return embeddings_of((x.vectors @ rotation).astype(np.float32), special_of(x), x.weights)

    assume(name != "cosine" or not cancels(a, b))
    assert similarity(name).score(rotated(a), rotated(b)) == pytest.approx(similarity(name).score(a, b), abs=2e-5)


@pytest.mark.parametrize("name", TRANSPORTS)
@given(a=token_embeddings(), b=token_embeddings())
def test_transport_ignores_token_weights(name: str, a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    plain = [embeddings_of(x.vectors, special_of(x)) for x in (a, b)]
    assert similarity(name).score(a, b) == similarity(name).score(*plain)


@pytest.mark.parametrize("name", TRANSPORTS)
def test_pooled_vectors_alone_are_rejected(name: str) -> None:
    pooled = TokenEmbeddings(
        np.zeros((0, 3), np.float32), np.zeros(0, np.float32), pooled_vector=np.ones(3, np.float32)
    )
    with pytest.raises(ValueError, match=r"only the pooled vector is present|have no text"):
        similarity(name).score(pooled, pooled)


def test_listing_the_measures_does_not_import_a_solver() -> None:
    """The import takes seconds, and GET /models must not wait for it."""
    program = (
        "import sys; from semblance.models import catalogue; "
        "[catalogue.similarity(name) for name in catalogue.names(catalogue.SIMILARITIES)]; "
        "print('ot' in sys.modules, 'scipy' in sys.modules)"
    )
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert completed.stdout.split() == ["False", "False"]


def test_cosines_and_distances_agree_with_plain_loops() -> None:
    rng = np.random.default_rng(0)
    a, b = (embeddings_of(rng.normal(size=(n, 9)).astype(np.float32)) for n in (4, 6))
    assert cosine_matrix(a, b) == pytest.approx(plain_cosines(a, b), abs=1e-6)
    assert distance_matrix(a, b) == pytest.approx(plain_distances(a, b), abs=1e-5)
