"""Transport plans between the tokens of two texts.

A plan T (n, m) moves mass from token i of the left text to token j of the right. With similarities C (n, m) its score
is sum_ij T_ij C_ij, and the part of a pair is T_ij C_ij; the measures differ only in the plan. With marginals
a_i = 1/n and b_j = 1/m::

    exact            rows sum to a and columns to b; the plan of the largest score
    row              rows sum to a; each row sends its mass to its largest similarity
    average pooling  rank one; neither marginal holds, and its entries sum to more than 1 where the tokens disagree
    partial          rows sum to at most a and columns to at most b; moves only what gains
    unbalanced       marginals are penalized, not fixed; entropy spreads the mass

Source: lee-etal-2022-clrcmd, section 3; the last two: arase-etal-2023-otalign.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semblance.models.embeddings import Doubles, Floats, TokenEmbeddings
from semblance.models.text import Booleans

_MAX_ITERATIONS = 100_000_000  # of the network simplex; it needs some thousands, so this is never reached
_TOLERANCE = 1e-9  # relative change of the scaling vectors at which the iterations end


def row_plan(similarity: Doubles, mass: Booleans | Floats | None = None) -> Doubles:
    """(n, m) the mass of each row at its first maximum: transport without column constraints.

    The mass is 1/n a row, or in proportion to `mass` (n,). It sums to 1.

    >>> row_plan(np.array([[0.1, 0.9], [0.5, 0.5]]))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    n = len(similarity)
    plan = np.zeros_like(similarity)
    plan[np.arange(n), similarity.argmax(axis=1)] = 1 / n if mass is None else mass / mass.sum(dtype=np.float64)
    return plan


def column_plan(similarity: Doubles, mass: Booleans | Floats | None = None) -> Doubles:
    """(n, m) the mass of each column at its first maximum: `row_plan` of the transpose."""
    return row_plan(similarity.T, mass).T


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


def partial_plan(gain: Doubles) -> Doubles:
    """(n, m) the plan of the largest gain, with row sums <= 1/n and column sums <= 1/m.

    It maximizes sum_ij T_ij gain_ij, so mass moves only between pairs with a positive gain. Where several plans are
    optimal, it is one of them.

    >>> partial_plan(np.array([[0.5, -0.1], [-0.2, -0.3]])).tolist()
    [[0.5, 0.0], [0.0, 0.0]]

    Source: chapel-etal-2020-partial (its dummy points), solved by flamary-etal-2021-pot.
    """
    import ot  # noqa: PLC0415 - takes seconds to import, with unused parts of torch and scikit-learn

    n, m = gain.shape
    # a null row and a null column supply and take what does not move, at no gain; integer masses are exact
    masses = np.append(np.full(n, float(m)), n * m), np.append(np.full(m, float(n)), n * m)
    cost = np.zeros((n + 1, m + 1))
    cost[:n, :m] = -gain
    plan: Doubles = ot.emd(*masses, cost - cost.min(), numItermax=_MAX_ITERATIONS)[:n, :m] / (n * m)
    return plan


def unbalanced_plans(gains: Sequence[Doubles], entropy: float, relaxation: float) -> list[Doubles]:
    """Entropic plans with relaxed marginals between units of mass 1, for several problems.

    For each gain (n, m) the plan T (n, m) > 0 maximizes::

        sum_ij T_ij gain_ij - entropy KL(T | 1) - relaxation (KL(rows of T | 1) + KL(columns of T | 1))

    with KL(p | q) = sum p log(p / q) - p + q. So a unit may move less than its mass, or more.

    Args:
        gains: the problems, which are solved as one with a block for each.
        entropy: > 0; the larger, the more evenly mass is spread.
        relaxation: > 0; the larger, the closer the marginals are to 1.

    >>> [plan] = unbalanced_plans([np.array([[0.5]])], entropy=0.2, relaxation=0.4)
    >>> round(float(np.log(plan[0, 0])), 6)  # 0.5 / (0.2 + 2 * 0.4)
    0.5

    Source: chizat-etal-2018-scaling, solved by flamary-etal-2021-pot, its Sinkhorn iterations.
    """
    import ot  # noqa: PLC0415 - takes seconds to import, with unused parts of torch and scikit-learn

    rows, columns = (np.cumsum([0, *(gain.shape[axis] for gain in gains)]) for axis in (0, 1))
    blocks = [(slice(*rows[i : i + 2]), slice(*columns[i : i + 2])) for i in range(len(gains))]
    cost = np.full((rows[-1], columns[-1]), np.inf)
    for block, gain in zip(blocks, gains, strict=True):
        cost[block] = -gain
    plan: Doubles = ot.unbalanced.sinkhorn_knopp_unbalanced(
        np.ones(rows[-1]), np.ones(columns[-1]), cost, entropy, relaxation, stopThr=_TOLERANCE
    )
    return [plan[block] for block in blocks]


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
