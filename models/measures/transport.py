"""Transport plans between the tokens of two texts.

A plan T (n, m) moves mass from token i of the left text to token j of the right. With similarities C (n, m) its score
is sum_ij T_ij C_ij, and the part of a pair is T_ij C_ij; the measures differ only in the plan. With marginals
a_i = 1/n and b_j = 1/m::

    exact            rows sum to a and columns to b; the plan of the largest score
    row              rows sum to a; each row sends its mass to its largest similarity
    average pooling  rank one; neither marginal holds, and its entries sum to more than 1 where the tokens disagree

Source: lee-etal-2022-clrcmd, section 3.
"""

from __future__ import annotations

import numpy as np

from semblance.models.embeddings import Doubles, TokenEmbeddings
from semblance.models.text import Booleans

_MAX_ITERATIONS = 100_000_000  # of the network simplex; it needs some thousands, so this is never reached


def row_plan(similarity: Doubles, counted: Booleans | None = None) -> Doubles:
    """(n, m) equal mass at each row's first maximum: transport without column constraints.

    The mass is 1/n a row; with `counted` (n,), it is divided among the counted rows only.

    >>> row_plan(np.array([[0.1, 0.9], [0.5, 0.5]]))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    n = len(similarity)
    plan = np.zeros_like(similarity)
    plan[np.arange(n), similarity.argmax(axis=1)] = 1 / n if counted is None else counted / counted.sum()
    return plan


def column_plan(similarity: Doubles, counted: Booleans | None = None) -> Doubles:
    """(n, m) equal mass at each column's first maximum: `row_plan` of the transpose."""
    return row_plan(similarity.T, counted).T


def exact_plan(cost: Doubles) -> Doubles:
    """(n, m) the plan that minimizes sum_ij T_ij cost_ij, with row sums 1/n and column sums 1/m.

    Where several plans are optimal, it is one of them.

    >>> exact_plan(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])).round(4).tolist()
    [[0.3333, 0.0, 0.0], [0.0, 0.3333, 0.0], [0.0, 0.0, 0.3333]]

    Source: flamary-etal-2021-pot, its network simplex.
    """
    import ot  # noqa: PLC0415 - takes seconds to import, with unused parts of torch and scikit-learn

    n, m = cost.shape
    # integer masses, m a row and n a column, are exact; 1/n and 1/m would round to different sums
    masses = np.full(n, float(m)), np.full(m, float(n))
    # subtracting a constant changes no plan; the solver reports negative costs as infeasible
    plan: Doubles = ot.emd(*masses, cost - cost.min(), numItermax=_MAX_ITERATIONS) / (n * m)
    return plan


def average_pooling_plan(a: TokenEmbeddings, b: TokenEmbeddings) -> Doubles:
    """(n, m) T_ij = v_i w_j |x_i| |y_j| / (|u| |z|), of rank one.

    With cosines C, sum_ij T_ij C_ij = cos(u, z). v and w are the token weights scaled to sum 1, u and z the weighted
    means of the token vectors; all 0 where u or z is zero. The paper has v_i = 1/n and w_j = 1/m, and costs v_i w_j /
    T_ij - C_ij, which may be negative.
    """
    return np.outer(_lengths_to_mean(a), _lengths_to_mean(b))


def _lengths_to_mean(embeddings: TokenEmbeddings) -> Doubles:
    """(n,) v_i |x_i| / |u|."""
    vectors = embeddings.weighted_vectors()
    length = np.linalg.norm(vectors.sum(axis=0))
    lengths: Doubles = np.linalg.norm(vectors, axis=1)
    return lengths / length if length > 0 else np.zeros_like(lengths)
