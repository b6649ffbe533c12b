"""Principal axes are those of scikit-learn, with fixed signs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from semblance.models.adaptation.principal_axes import principal_axes


@given(n=st.integers(2, 30), d=st.integers(1, 12), seed=st.integers(0, 2**32 - 1))
def test_variances_and_directions_are_those_of_scikit_learn(n: int, d: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(n, d))
    axes, oracle = principal_axes(vectors), PCA(svd_solver="full").fit(vectors)
    kept = min(n, d)
    assert np.allclose(axes.mean, oracle.mean_)
    assert np.allclose(axes.variances[:kept], oracle.explained_variance_[:kept])
    assert np.allclose(axes.variances[kept:], 0.0)
    assert np.allclose(axes.directions.T @ axes.directions, np.eye(d))
    varying = int((axes.variances[:kept] > 1e-9).sum())
    along = np.abs((axes.directions[:, :varying] * oracle.components_[:varying].T).sum(axis=0))
    assert np.allclose(along, 1.0, atol=1e-5)
    largest = axes.directions[np.abs(axes.directions).argmax(axis=0), np.arange(d)]
    assert (largest > 0).all()


def test_a_single_vector_has_no_variance() -> None:
    axes = principal_axes(np.array([[1.0, 2.0]]))
    assert (axes.variances == 0.0).all()
    assert (axes.mean == [1.0, 2.0]).all()
