"""Vectors that lie as those of sentences do, as many as wanted: for what encoding real ones would take too long."""

from __future__ import annotations

import numpy as np

from semblance.models.embeddings import Floats

DIM = 384  # of the built-in model
CLUSTERS = 5000
SPREAD = 0.9  # of a cluster, where its centre is 1 away from that of all
DECAY = 0.4  # the i-th direction has i^-DECAY of the first one's deviation
SCATTER = 0.7  # length of what is added to a vector: the cosine with it is then about 0.8
BLOCK = 50_000  # drawn at a time


def clustered(count: int, seed: int = 0) -> Floats:
    """(count, DIM) unit vectors of clusters whose sizes fall off as 1/rank, in directions that matter less and less."""
    rng = np.random.default_rng(seed)
    deviations = (np.arange(1, DIM + 1) ** -DECAY).astype(np.float32)
    centres = rng.standard_normal((CLUSTERS, DIM), np.float32)
    sizes = 1 / np.arange(10, 10 + CLUSTERS)
    vectors = np.empty((count, DIM), np.float32)
    for start in range(0, count, BLOCK):
        block = vectors[start : start + BLOCK]
        rng.standard_normal(out=block, dtype=np.float32)
        block *= SPREAD
        block += centres[rng.choice(CLUSTERS, len(block), p=sizes / sizes.sum())]
        block *= deviations
        block /= np.linalg.norm(block, axis=1, keepdims=True)
    return vectors


def scattered(vectors: Floats, count: int, seed: int = 0) -> Floats:
    """(count, d) unit vectors about those given, which come first, each in its turn."""
    rng = np.random.default_rng(seed)
    made = np.empty((count, vectors.shape[1]), np.float32)
    for start in range(0, count, len(vectors)):
        block = made[start : start + len(vectors)]
        rng.standard_normal(out=block, dtype=np.float32)
        block *= SCATTER / np.sqrt(vectors.shape[1]) if start else 0
        block += vectors[: len(block)]
        block /= np.linalg.norm(block, axis=1, keepdims=True)
    return made
