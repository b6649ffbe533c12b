"""Correlations from counts, against SciPy on repeated samples."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import pearsonr, spearmanr

from semblance.models.embeddings import Doubles
from semblance.models.evaluation.statistics.correlation import pearson, spearman
from tests.support.project import GOLDEN_FILES

GOLDEN = json.loads((GOLDEN_FILES / "dynamax_bootstrap.json").read_text())


@st.composite
def samples(draw: st.DrawFn) -> tuple[Doubles, Doubles, Doubles]:
    """Two sides with many ties, and counts that may leave a side constant or the sample empty."""
    n = draw(st.integers(1, 12))
    values = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.floats(-1e6, 1e6, width=32))
    x, y = (draw(arrays(np.float64, n, elements=values)) for _ in range(2))
    counts = draw(arrays(np.int64, (draw(st.integers(1, 5)), n), elements=st.integers(0, 3)))
    return x, y, counts.astype(np.float64)


@given(samples())
def test_spearman_of_counts_equals_scipy_on_the_repeated_sample(sample: tuple[Doubles, Doubles, Doubles]) -> None:
    x, y, counts = sample
    for row, found in zip(counts, spearman(x, y, counts), strict=True):
        left, right = (np.repeat(side, row.astype(int)) for side in (x, y))
        if len(set(left)) < 2 or len(set(right)) < 2:
            assert found == 0.0
        else:
            assert found == pytest.approx(spearmanr(left, right)[0], abs=1e-12)


@given(samples())
def test_pearson_of_counts_equals_that_of_the_repeated_sample(sample: tuple[Doubles, Doubles, Doubles]) -> None:
    x, y, counts = sample
    for row, found in zip(counts, pearson(x, y, counts), strict=True):
        left, right = (np.repeat(side, row.astype(int)) for side in (x, y))
        if len(set(left)) < 2 or len(set(right)) < 2:
            assert found == 0.0
        else:
            assert found == pytest.approx(_exact_pearson(left, right), abs=1e-9)


def _exact_pearson(x: Doubles, y: Doubles) -> float:
    """Exact fractions, because SciPy warns of nearly constant sides."""
    from fractions import Fraction

    left, right = ([Fraction(value) for value in side.tolist()] for side in (x, y))
    dx, dy = ([value - sum(side) / len(side) for value in side] for side in (left, right))
    together = sum(a * b for a, b in zip(dx, dy, strict=True))
    squared = together**2 / (sum(a * a for a in dx) * sum(b * b for b in dy))
    return math.copysign(math.sqrt(squared), together)


def test_without_counts_each_pair_counts_once() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 50))
    assert pearson(x, y) == pytest.approx([pearsonr(x, y)[0]], abs=1e-12)
    assert spearman(x, y) == pytest.approx([spearmanr(x, y)[0]], abs=1e-12)


@pytest.mark.parametrize("name", ["system", "baseline"])
def test_pearson_of_the_worked_example(name: str) -> None:
    found = pearson(np.array(GOLDEN[name]), np.array(GOLDEN["gold"]))
    assert found == pytest.approx([GOLDEN[f"r_{name}"]], abs=GOLDEN["tolerance"])


def test_blocks_of_rows_equal_single_rows() -> None:
    """With more rows than fit into one block."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=400), rng.integers(0, 6, size=400).astype(np.float64)
    counts = rng.integers(0, 3, size=(500, 400)).astype(np.float64)
    for figure in (pearson, spearman):
        alone = np.concatenate([figure(x, y, counts[[row]]) for row in range(500)])
        assert figure(x, y, counts).tolist() == alone.tolist()


def test_huge_and_tiny_values_do_not_overflow() -> None:
    x = np.array([1e300, -1e300, 5e299])
    assert pearson(x, np.array([1e-200, -1e-200, 5e-201])) == pytest.approx([1.0])
    assert spearman(np.array([-np.inf, 0.0, np.inf]), np.array([1.0, 2.0, 3.0])) == pytest.approx([1.0])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinite_values_raise(bad: float) -> None:
    x, y = np.array([bad, 1.0]), np.array([0.0, 1.0])
    with pytest.raises(ValueError, match="finite"):
        pearson(x, y)
    if np.isnan(bad):
        with pytest.raises(ValueError, match="rank"):
            spearman(y, x)
