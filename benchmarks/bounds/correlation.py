"""Correlations of many resamples, which an interval needs."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.bounds.bound import at_most
from semblance_lab.evaluation.statistics import spearman

PAIRS, RESAMPLES = 3_750, 1_000


@at_most(5, "s")
def resamples_of_a_year() -> float:
    """Spearman's rho of 1,000 resamples of the largest STS year takes seconds on one core."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=PAIRS), rng.integers(0, 26, size=PAIRS) / 5
    counts = np.stack([np.bincount(rng.integers(PAIRS, size=PAIRS), minlength=PAIRS) for _ in range(RESAMPLES)])
    began = time.perf_counter()
    spearman(x, y, counts.astype(np.float64))
    return time.perf_counter() - began
