"""Transport between tokens: laws of the plans, and the measures compared with slow oracles."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from semblance.models.alignment.token_matches import distance_matrix
from semblance.models.alignment.transport import (
    average_pooling_plan,
    column_plan,
    exact_plan,
    partial_plan,
    row_plan,
    unbalanced_plans,
)
from semblance.models.catalogue import explainable, similarity
from semblance.models.embeddings import Doubles, TokenEmbeddings
from tests.support.plain_measures import ORACLES, least_cost, most_gain, plain_cosines
from tests.support.token_matrices import bytes_of, embeddings_of, token_embeddings


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


@given(similarity=matrices(), masses=st.lists(st.sampled_from([0, 0.1, 1, 3]), min_size=7, max_size=7))
def test_rows_have_their_share_of_the_mass(similarity: Doubles, masses: list[float]) -> None:
    mass = np.array(masses[: len(similarity)], np.float32)
    assume(mass.any())
    plan = row_plan(similarity, mass)
    assert plan.sum(axis=1) == pytest.approx(mass / mass.sum(dtype=np.float64), abs=1e-12)


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
def test_relaxed_word_movers_explains_the_text_with_the_larger_mean(a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    """Each token of exactly one of the texts has exactly one link."""
    measure = explainable("relaxed_word_movers")
    a, b = embeddings_of(a.vectors), embeddings_of(b.vectors)
    parts, distances = measure.explain(a, b).contribution, distance_matrix(a, b)
    left, right = distances.min(axis=1), distances.min(axis=0)
    if left.mean() >= right.mean():
        assert parts.sum(axis=1) == pytest.approx(-left / len(a), abs=1e-12)
    else:
        assert parts.sum(axis=0) == pytest.approx(-right / len(b), abs=1e-12)


@pytest.mark.parametrize("tokens", [(256, 256), (512, 511), (1, 512)])
def test_the_solver_converges_on_long_texts(tokens: tuple[int, int]) -> None:
    """A solver that stops early warns, which is an error here, and its plan is not optimal."""
    rng = np.random.default_rng(0)
    x, y = (embeddings_of(rng.normal(size=(n, 64)).astype(np.float32)) for n in tokens)
    assert similarity("cmd").score(x, y) <= similarity("rcmd").score(x, y)
    shuffled = embeddings_of(x.vectors[rng.permutation(len(x))])
    assert similarity("cmd").score(x, shuffled) == pytest.approx(1.0, abs=1e-6)
    assert similarity("word_movers").score(x, shuffled) == pytest.approx(0.0, abs=1e-9)


def test_listing_the_measures_does_not_import_a_solver() -> None:
    """The import takes seconds, and GET /models must not wait for it."""
    program = (
        "import sys; from semblance.models import catalogue; "
        "[catalogue.similarity(name) for name in catalogue.names(catalogue.MEASURES)]; "
        "print('ot' in sys.modules, 'scipy' in sys.modules)"
    )
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert completed.stdout.split() == ["False", "False"]
