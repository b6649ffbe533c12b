"""Pooling: how the token vectors of a text become one vector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semblance.models.embeddings import Floats
from semblance.models.runtime import Pooling


def pooling_weights(pooling: Pooling, own: Floats) -> Floats:
    """(n,) weights of the mean that is the vector of a text; of all modes but `max`.

    With i counted from 1, over the tokens that count: all of them the same for `mean`, `words` and
    `mean_sqrt_len_tokens`, whose vector is longer by `pooling_factor`; i for `weightedmean`; only the first one for
    `cls`, and only the last one for `lasttoken`.

    Args:
        pooling: the mode.
        own: (n,) 1 for tokens that count, 0 for others, such as those of a prompt; not all 0.

    >>> own = np.array([0, 1, 1, 1], np.float32)
    >>> [pooling_weights(mode, own).tolist() for mode in ("mean", "weightedmean", "cls", "lasttoken")]
    [[0.0, 1.0, 1.0, 1.0], [0.0, 2.0, 3.0, 4.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]

    Source: muennighoff-2022-sgpt for `weightedmean`; reimers-gurevych-2019-sbert, section 3.
    """
    if pooling == "weightedmean":
        positions: Floats = np.arange(1, len(own) + 1).astype(np.float32)
        return own * positions
    if pooling not in ("cls", "lasttoken"):
        return own
    weights = np.zeros_like(own)
    weights[own.nonzero()[0][0 if pooling == "cls" else -1]] = 1
    return weights


def pooling_factor(pooling: Pooling, own: Floats) -> np.float32:
    """Factor of the mean.

    It is sqrt(n) for `mean_sqrt_len_tokens`, which divides the sum of n vectors by it, and 1 for the others.
    """
    return np.sqrt(own.sum()) if pooling == "mean_sqrt_len_tokens" else np.float32(1)


def joined_poolings(vectors: Floats, own: Floats, poolings: Sequence[Pooling]) -> Floats:
    """(n, d) token vectors of a text -> (m d,): one after the other, its vectors by m modes.

    >>> joined_poolings(np.array([[1, 4], [3, 0]], np.float32), np.ones(2, np.float32), ["mean", "max"]).tolist()
    [2.0, 2.0, 3.0, 4.0]
    """
    return np.concatenate([_pooled(vectors, own, pooling) for pooling in poolings])


def _pooled(vectors: Floats, own: Floats, pooling: Pooling) -> Floats:
    if pooling == "max":
        largest: Floats = vectors[own > 0].max(axis=0)
        return largest
    weights = pooling_weights(pooling, own)
    pooled: Floats = pooling_factor(pooling, own) * (weights @ vectors) / weights.sum()
    return pooled
