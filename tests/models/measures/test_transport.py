"""Transport between tokens: the plans' laws, and the measures made of them against slow oracles."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from semblance.models.catalogue import similarity
from semblance.models.embeddings import Doubles, TokenEmbeddings
from semblance.models.measures.alignment import cosine_matrix, distance_matrix
from semblance.models.measures.transport import average_pooling_plan, column_plan, exact_plan, row_plan
from semblance.models.protocols import Explainable
from tests.support.plain_measures import ORACLES, least_cost, plain_cosines, plain_distances
from tests.support.token_matrices import bytes_of, embeddings_of, token_embeddings

TRANSPORTS = ("cmd", "rcmd", "rcmd1", "rcmd2", "word_movers", "relaxed_word_movers", "bertscore_f1")


@st.composite
def matrices(draw: st.DrawFn) -> Doubles:
    """(n, m) of numbers in [-2, 2]; of whole ones sometimes, so that many tie."""
    drawn = bytes_of(draw, draw(st.integers(1, 7)), draw(st.integers(1, 7)))
    numbers: Doubles = np.round(drawn.view(np.int8) / 64, draw(st.sampled_from([0, 3])))
    return numbers


def cancels(a: TokenEmbeddings, b: TokenEmbeddings) -> bool:
    """Whether a pooled vector is hardly more than rounding leaves of its tokens, and so has any direction."""
    return float(average_pooling_plan(a, b).max()) >= 1e3


@given(cost=matrices())
def test_the_exact_plan_moves_all_mass_at_the_least_cost(cost: Doubles) -> None:
    n, m = cost.shape
    plan = exact_plan(cost)
    assert (plan >= 0).all()
    assert plan.sum(axis=1) == pytest.approx(np.full(n, 1 / n), abs=1e-12)
    assert plan.sum(axis=0) == pytest.approx(np.full(m, 1 / m), abs=1e-12)
    assert float((plan * cost).sum()) == pytest.approx(least_cost(cost), abs=1e-9)


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
def test_rows_that_do_not_count_send_nothing(similarity: Doubles, bits: list[bool]) -> None:
    counted = np.array(bits[: len(similarity)])
    assume(counted.any())
    plan = row_plan(similarity, counted)
    assert plan.sum(axis=1) == pytest.approx(counted / counted.sum(), abs=1e-12)


@given(a=token_embeddings(), b=token_embeddings())
def test_average_pooling_is_a_plan_of_rank_one_that_gives_the_cosine(a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    plan = average_pooling_plan(a, b)
    assert np.linalg.matrix_rank(plan) <= 1
    assume(not cancels(a, b))
    assert float((plan * plain_cosines(a, b)).sum()) == pytest.approx(similarity("cosine").score(a, b), abs=1e-5)


@pytest.mark.parametrize("name", ORACLES)
@given(a=token_embeddings(), b=token_embeddings())
def test_a_measure_is_what_its_formula_says(name: str, a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    assume(name != "cosine" or not cancels(a, b))
    assert similarity(name).score(a, b) == pytest.approx(ORACLES[name](a, b), abs=1e-5)


@given(a=token_embeddings(), b=token_embeddings())
def test_what_is_relaxed_is_never_further_than_exact_transport(a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    exact = similarity("cmd").score(a, b)
    for name in ("rcmd1", "rcmd2", "rcmd"):
        assert similarity(name).score(a, b) >= exact - 1e-6
    assert similarity("relaxed_word_movers").score(a, b) >= similarity("word_movers").score(a, b) - 1e-9


@given(a=token_embeddings(), b=token_embeddings())
def test_the_parts_of_the_larger_side_are_those_that_sum_to_the_score(a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    """Each token of one text, and of one only, has exactly one link."""
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
def test_identical_texts_are_as_alike_as_can_be(a: TokenEmbeddings) -> None:
    seen = embeddings_of(np.abs(a.vectors) + np.float32(0.01))
    for name in ("cmd", "rcmd", "bertscore_f1"):
        assert similarity(name).score(seen, seen) == pytest.approx(1.0, abs=1e-6)
    for name in ("word_movers", "relaxed_word_movers", "negative_manhattan", "negative_euclidean"):
        assert similarity(name).score(a, a) == 0.0
        assert np.copysign(1.0, similarity(name).score(a, a)) == 1.0, "not minus zero, which JSON would show"


@pytest.mark.parametrize("tokens", [(256, 256), (512, 511), (1, 512)])
def test_long_texts_are_solved_to_the_end(tokens: tuple[int, int]) -> None:
    """A solver that stops early warns, which is an error here, and gives another plan than the best."""
    rng = np.random.default_rng(0)
    x, y = (embeddings_of(rng.normal(size=(n, 64)).astype(np.float32)) for n in tokens)
    assert similarity("cmd").score(x, y) <= similarity("rcmd").score(x, y)
    shuffled = embeddings_of(x.vectors[rng.permutation(len(x))])
    assert similarity("cmd").score(x, shuffled) == pytest.approx(1.0, abs=1e-6)
    assert similarity("word_movers").score(x, shuffled) == pytest.approx(0.0, abs=1e-9)


def lengthened(a: TokenEmbeddings, factors: Doubles) -> TokenEmbeddings:
    return embeddings_of((a.vectors * factors[:, None]).astype(np.float32), special_of(a), a.weights)


def special_of(a: TokenEmbeddings) -> list[bool]:
    assert a.text is not None
    return [bool(special) for special in a.text.special]


@pytest.mark.parametrize("name", ["cmd", "rcmd", "rcmd1", "rcmd2", "bertscore_f1"])
@given(a=token_embeddings(), b=token_embeddings(), seed=st.integers(0, 100))
def test_measures_of_cosines_do_not_see_how_long_a_token_vector_is(
    name: str, a: TokenEmbeddings, b: TokenEmbeddings, seed: int
) -> None:
    factors = np.random.default_rng(seed).uniform(0.25, 8, len(a))
    assert similarity(name).score(lengthened(a, factors), b) == pytest.approx(similarity(name).score(a, b), abs=2e-5)


@pytest.mark.parametrize("name", TRANSPORTS)
@given(a=token_embeddings(), b=token_embeddings(), seed=st.integers(0, 100))
def test_the_order_of_tokens_does_not_matter(name: str, a: TokenEmbeddings, b: TokenEmbeddings, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(a))
    special = special_of(a)
    moved = embeddings_of(a.vectors[order], [special[i] for i in order], a.weights[order])
    assert similarity(name).score(moved, b) == pytest.approx(similarity(name).score(a, b), abs=1e-6)


@pytest.mark.parametrize("name", [*TRANSPORTS, "cosine", "negative_euclidean"])
@given(a=token_embeddings(), b=token_embeddings(), seed=st.integers(0, 100))
def test_a_common_rotation_does_not_matter(name: str, a: TokenEmbeddings, b: TokenEmbeddings, seed: int) -> None:
    turn, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(a.vectors.shape[1],) * 2))

    def turned(x: TokenEmbeddings) -> TokenEmbeddings:
        return embeddings_of((x.vectors @ turn).astype(np.float32), special_of(x), x.weights)

    assume(name != "cosine" or not cancels(a, b))
    assert similarity(name).score(turned(a), turned(b)) == pytest.approx(similarity(name).score(a, b), abs=2e-5)


@pytest.mark.parametrize("name", TRANSPORTS)
@given(a=token_embeddings(), b=token_embeddings())
def test_every_token_counts_alike_whatever_its_weight(name: str, a: TokenEmbeddings, b: TokenEmbeddings) -> None:
    plain = [embeddings_of(x.vectors, special_of(x)) for x in (a, b)]
    assert similarity(name).score(a, b) == similarity(name).score(*plain)


@pytest.mark.parametrize("name", TRANSPORTS)
def test_vectors_of_the_whole_text_are_not_enough(name: str) -> None:
    pooled = TokenEmbeddings(np.zeros((0, 3), np.float32), np.zeros(0, np.float32), given=np.ones(3, np.float32))
    with pytest.raises(ValueError, match=r"w(as|ere) kept"):
        similarity(name).score(pooled, pooled)


def test_the_measures_are_listed_without_loading_a_solver() -> None:
    """It takes seconds to load, and GET /models shall not wait for it."""
    each = "[catalogue.similarity(n) for n in catalogue.names(sys.argv[1])]"
    listed = f"import sys; from semblance.models import catalogue; {each}"
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{listed}; print('ot' in sys.modules, 'scipy' in sys.modules)",
            "semblance.models.similarities",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == ["False", "False"]


def test_cosines_and_distances_are_those_of_each_pair_of_tokens() -> None:
    rng = np.random.default_rng(0)
    a, b = (embeddings_of(rng.normal(size=(n, 9)).astype(np.float32)) for n in (4, 6))
    assert cosine_matrix(a, b) == pytest.approx(plain_cosines(a, b), abs=1e-6)
    assert distance_matrix(a, b) == pytest.approx(plain_distances(a, b), abs=1e-5)
