"""Synthetic vectors distributed like those of sentences."""

from __future__ import annotations

import numpy as np

from semblance.models.embeddings import Floats

DIM = 384  # of the built-in model
CLUSTERS = 5000
CLUSTER_SPREAD = 0.9  # deviation within a cluster; that of the cluster centers is 1
DECAY = 0.4  # the i-th direction has i^-DECAY of the first one's deviation
PERTURBATION = 0.7  # length of the added noise: the cosine with the original is then about 0.8
BLOCK = 50_000  # vectors generated at a time


def clustered_vectors(count: int, seed: int = 0, out: Floats | None = None) -> Floats:
    """(count, DIM) unit vectors in clusters of sizes about 1/rank, with decaying variances.

    They are written to `out`, if it is given.
    """
    rng = np.random.default_rng(seed)
    deviations = (np.arange(1, DIM + 1) ** -DECAY).astype(np.float32)
    centers = rng.standard_normal((CLUSTERS, DIM), np.float32)
    sizes = 1 / np.arange(10, 10 + CLUSTERS)
    vectors = np.empty((count, DIM), np.float32) if out is None else out
    for start in range(0, count, BLOCK):
        block = vectors[start : start + BLOCK]
        rng.standard_normal(out=block, dtype=np.float32)
        block *= CLUSTER_SPREAD
        block += centers[rng.choice(CLUSTERS, len(block), p=sizes / sizes.sum())]
        block *= deviations
        block /= np.linalg.norm(block, axis=1, keepdims=True)
    return vectors


def perturbed_vectors(vectors: Floats, count: int, seed: int = 0) -> Floats:
    """(count, d) unit vectors: the given ones first, then noisy copies of them in turn."""
    rng = np.random.default_rng(seed)
    perturbed = np.empty((count, vectors.shape[1]), np.float32)
    for start in range(0, count, len(vectors)):
        block = perturbed[start : start + len(vectors)]
        rng.standard_normal(out=block, dtype=np.float32)
        block *= PERTURBATION / np.sqrt(vectors.shape[1]) if start else 0
        block += vectors[: len(block)]
        block /= np.linalg.norm(block, axis=1, keepdims=True)
    return perturbed
