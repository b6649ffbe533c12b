"""The vectors that benchmarks draw where encoding texts would take too long."""

from __future__ import annotations

import numpy as np

from tests.support.synthetic_vectors import DIM, clustered, scattered


def test_all_are_of_unit_length_and_the_same_each_time() -> None:
    vectors = clustered(3000)
    assert vectors.shape == (3000, DIM)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(clustered(3000), vectors)


def test_those_of_a_cluster_lie_together_and_the_largest_cluster_holds_the_most() -> None:
    vectors = clustered(3000)
    products = vectors @ vectors.T - np.eye(3000)
    assert np.median(products) < 0.1
    assert np.median(products.max(axis=1)) > 0.5


def test_scattered_ones_come_after_those_given_each_about_its_own() -> None:
    given = clustered(100)
    vectors = scattered(given, 250)
    np.testing.assert_allclose(vectors[:100], given, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    own = np.einsum("ij,ij->i", vectors[100:], np.vstack([given, given[:50]]))
    np.testing.assert_allclose(own, 0.82, atol=0.06)
