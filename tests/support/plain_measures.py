"""Slow, obviously correct versions of the measures.

They are the oracles of the tests and the baselines of `benchmarks.speed.measures`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from semblance.models.embeddings import Doubles, TokenEmbeddings

Oracle: TypeAlias = Callable[[TokenEmbeddings, TokenEmbeddings], float]


def plain_cosine(x: Doubles, y: Doubles) -> float:
    """x . y / (|x| |y|), 0 where a vector is zero."""
    lengths = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y) / lengths if lengths > 0 else 0.0


def plain_cosines(a: TokenEmbeddings, b: TokenEmbeddings) -> Doubles:
    """(n, m) the cosine of every pair of tokens."""
    return np.array([[plain_cosine(x, y) for y in _rows(b)] for x in _rows(a)])


def plain_distances(a: TokenEmbeddings, b: TokenEmbeddings) -> Doubles:
    """(n, m) the Euclidean distance of every pair of tokens."""
    return np.array([[float(np.linalg.norm(x - y)) for y in _rows(b)] for x in _rows(a)])


def least_cost(cost: Doubles) -> float:
    """Exact transport with uniform marginals, as a linear program."""
    return _least_cost(cost, "eq")


def most_gain(gain: Doubles) -> float:
    """The best partial transport, with marginals of at most 1/n and 1/m, as a linear program."""
    return -_least_cost(-gain, "ub")


def _least_cost(cost: Doubles, marginals: str) -> float:
    n, m = cost.shape
    rows = sparse.kron(sparse.eye_array(n), np.ones((1, m)))
    columns = sparse.kron(np.ones((1, n)), sparse.eye_array(m))
    bounds = {f"A_{marginals}": sparse.vstack((rows, columns)), f"b_{marginals}": [1 / n] * n + [1 / m] * m}
    solved = linprog(cost.ravel(), method="highs", **bounds)  # type: ignore[call-overload] # missing in its stubs
    if solved.fun is None:
        raise ValueError(solved.message)
    return float(solved.fun)


def one_way(a: TokenEmbeddings, b: TokenEmbeddings, *, special: bool = True) -> float:
    """Mean best cosine of the tokens of `a` in `b`; with or without the special tokens of `a`."""
    best = [max(plain_cosine(x, y) for y in _rows(b)) for x in _rows(a)]
    if special or a.text is None or a.text.special.all():
        return sum(best) / len(best)
    own = [value for value, marked in zip(best, a.text.special, strict=True) if not marked]
    return sum(own) / len(own)


def nearest(a: TokenEmbeddings, b: TokenEmbeddings) -> float:
    """Mean distance of the tokens of `a` to the nearest in `b`."""
    return sum(min(float(np.linalg.norm(x - y)) for y in _rows(b)) for x in _rows(a)) / len(a)


def bertscore(a: TokenEmbeddings, b: TokenEmbeddings) -> float:
    """F1 of precision and recall; 0 unless both are positive."""
    precision, recall = one_way(a, b, special=False), one_way(b, a, special=False)
    return 2 * precision * recall / (precision + recall) if precision > 0 and recall > 0 else 0.0


def without_special(embeddings: TokenEmbeddings) -> TokenEmbeddings:
    """The tokens that are not special, row by row; all if there are no others."""
    assert embeddings.text is not None
    own = [i for i, special in enumerate(embeddings.text.special) if not special] or list(range(len(embeddings)))
    return TokenEmbeddings(
        np.stack([embeddings.vectors[i] for i in own]), np.array([embeddings.weights[i] for i in own], np.float32)
    )


def _pooled(embeddings: TokenEmbeddings) -> Doubles:
    """The pooled vector, or the weighted mean if there is none."""
    if embeddings.pooled_vector is not None:
        return embeddings.pooled_vector.astype(np.float64)
    weighted = [weight * row for weight, row in zip(embeddings.weights, _rows(embeddings), strict=True)]
    total: Doubles = np.sum(weighted, axis=0)
    return total / float(embeddings.weights.sum())


def _rows(embeddings: TokenEmbeddings) -> Doubles:
    return embeddings.vectors.astype(np.float64)


ORACLES: Mapping[str, Oracle] = {
    "bertscore_f1": bertscore,
    "cmd": lambda a, b: 1 - least_cost(1 - plain_cosines(a, b)),
    "cosine": lambda a, b: plain_cosine(_pooled(a), _pooled(b)),
    "negative_euclidean": lambda a, b: -(float(sum((_pooled(a) - _pooled(b)) ** 2)) ** 0.5),
    "negative_manhattan": lambda a, b: -float(sum(abs(_pooled(a) - _pooled(b)))),
    "rcmd": lambda a, b: (one_way(a, b) + one_way(b, a)) / 2,
    "rcmd1": one_way,
    "rcmd1_words": lambda a, b: one_way(without_special(a), without_special(b)),
    "rcmd2": lambda a, b: one_way(b, a),
    "rcmd_words": lambda a, b: (ORACLES["rcmd1_words"](a, b) + ORACLES["rcmd1_words"](b, a)) / 2,
    "relaxed_word_movers": lambda a, b: -max(nearest(a, b), nearest(b, a)),
    "word_movers": lambda a, b: -least_cost(plain_distances(a, b)),
}
