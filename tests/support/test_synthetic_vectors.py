"""Synthetic vectors of benchmarks."""

from __future__ import annotations

import numpy as np

from tests.support.synthetic_vectors import DIM, clustered_vectors, perturbed_vectors


def test_vectors_have_unit_length_and_are_reproducible() -> None:
    vectors = clustered_vectors(3000)
    assert vectors.shape == (3000, DIM)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(clustered_vectors(3000), vectors)


def test_vectors_of_a_cluster_are_close_to_each_other() -> None:
    vectors = clustered_vectors(3000)
    products = vectors @ vectors.T - np.eye(3000)
    assert np.median(products) < 0.1
    assert np.median(products.max(axis=1)) > 0.5


def test_perturbed_vectors_follow_the_originals_and_stay_near_them() -> None:
    originals = clustered_vectors(100)
    vectors = perturbed_vectors(originals, 250)
    np.testing.assert_allclose(vectors[:100], originals, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    cosines = np.einsum("ij,ij->i", vectors[100:], np.vstack([originals, originals[:50]]))
    np.testing.assert_allclose(cosines, 0.82, atol=0.06)
