"""Transport plans: how much of each token of one text goes to each token of the other.

A plan T (n, m) with a matrix of similarities C (n, m) gives a score, sum_ij T_ij C_ij, and with it each pair's part of
that score, T_ij C_ij. The measures built so differ in nothing but the plan. With marginals a_i = 1/n and b_j = 1/m::

    exact            rows sum to a and columns to b; no plan within them gives more
    row              rows sum to a; each row's mass is where its similarity is largest
    average pooling  rank one; neither marginal holds, and its entries sum to more than 1 where the tokens disagree

Source: lee-etal-2022-clrcmd, section 3.
"""

from __future__ import annotations

import numpy as np

from semblance.models.embeddings import Doubles, TokenEmbeddings
from semblance.models.text import Booleans

_MOST_STEPS = 100_000_000  # of the network simplex, which needs some thousand: never the limit


def row_plan(similarity: Doubles, counted: Booleans | None = None) -> Doubles:
    """(n, m) equal shares at each row's first largest entry, 0 elsewhere: transport that may end at any column.

    A share is 1/n, or one part in as many rows as are `counted` (n,), and 0 in the others.

    >>> row_plan(np.array([[0.1, 0.9], [0.5, 0.5]]))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    n = len(similarity)
    plan = np.zeros_like(similarity)
    plan[np.arange(n), similarity.argmax(axis=1)] = 1 / n if counted is None else counted / counted.sum()
    return plan


def column_plan(similarity: Doubles, counted: Booleans | None = None) -> Doubles:
    """(n, m) equal shares at each column's first largest entry, 0 elsewhere: `row_plan` from the other side."""
    return row_plan(similarity.T, counted).T


def exact_plan(cost: Doubles) -> Doubles:
    """(n, m) the plan of least sum_ij T_ij cost_ij whose rows sum to 1/n and whose columns sum to 1/m.

    Where several are best, it is any of them.

    >>> exact_plan(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])).round(4).tolist()
    [[0.3333, 0.0, 0.0], [0.0, 0.3333, 0.0], [0.0, 0.0, 0.3333]]

    Source: flamary-etal-2021-pot, whose network simplex solves it.
    """
    import ot  # noqa: PLC0415 - loads for seconds, with parts of torch and scikit-learn that nothing here uses

    n, m = cost.shape
    # whole masses, m a row and n a column, are exact; 1/n and 1/m would not sum to the same
    masses = np.full(n, float(m)), np.full(m, float(n))
    # a constant changes no plan, and the solver takes negative costs for a problem without a solution
    plan: Doubles = ot.emd(*masses, cost - cost.min(), numItermax=_MOST_STEPS) / (n * m)
    return plan


def average_pooling_plan(a: TokenEmbeddings, b: TokenEmbeddings) -> Doubles:
    """(n, m) T_ij = v_i w_j |x_i| |y_j| / (|u| |z|), of rank one: with cosines C, sum_ij T_ij C_ij = cos(u, z).

    v and w are the token weights scaled to sum 1, u and z the weighted means of the token vectors; 0 throughout where
    one of these is zero. The paper has v_i = 1/n and w_j = 1/m, and costs v_i w_j / T_ij - C_ij, which may be negative.
    """
    return np.outer(_lengths_to_mean(a), _lengths_to_mean(b))


def _lengths_to_mean(embeddings: TokenEmbeddings) -> Doubles:
    """(n,) v_i |x_i| / |u|."""
    weighted = embeddings.weighted()
    length = np.linalg.norm(weighted.sum(axis=0))
    lengths: Doubles = np.linalg.norm(weighted, axis=1)
    return lengths / length if length > 0 else np.zeros_like(lengths)
