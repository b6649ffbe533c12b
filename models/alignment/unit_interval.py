"""Map scores of any measure to [0, 1]."""

from __future__ import annotations

import numpy as np

from semblance.models.embeddings import Doubles


def to_unit_interval(scores: Doubles, bounds: tuple[float, float]) -> Doubles:
    """Map scores (n,) to [0, 1] by the bounds of their measure, never by the other scores.

    Strictly increasing, up to rounding::

        (s - low) / (high - low)          both bounds are finite
        1 / (1 + high - s)                only the upper bound is, as of a negative distance
        (s - low) / (1 + s - low)         only the lower bound is
        1 / (1 + e^-s)                    neither bound is, as of a logit

    >>> to_unit_interval(np.array([-1.0, 0.5, 1.0]), (-1.0, 1.0)).tolist()
    [0.0, 0.75, 1.0]
    >>> to_unit_interval(np.array([-3.0, 0.0]), (-np.inf, 0.0)).tolist()
    [0.25, 1.0]
    """
    low, high = bounds
    if np.isfinite(low) and np.isfinite(high):
        mapped = (scores - low) / (high - low)
    elif np.isfinite(high):
        mapped = 1 / (1 + high - scores)
    elif np.isfinite(low):
        mapped = (scores - low) / (1 + scores - low)
    else:
        with np.errstate(invalid="ignore"):  # NaN stays NaN
            mapped = np.exp(-np.logaddexp(0, -scores))
    clipped: Doubles = np.clip(mapped, 0.0, 1.0)  # rounding may exceed the bounds
    return clipped
