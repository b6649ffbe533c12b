"""Centered isotonic regression: a monotone map from scores to probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.text import Booleans


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilityMap:
    """Map from scores of one measure to the probability that people call a pair the same.

    Linear between its t >= 1 knots, and constant below the first and above the last, so never decreasing.

    Attributes:
        scores: (t,) the knots, strictly increasing.
        probabilities: (t,) their probabilities, strictly increasing, in (0, 1).

    >>> ProbabilityMap(np.array([0.2, 0.8]), np.array([0.1, 0.9]))(np.array([0.0, 0.5, 0.65, 1.0])).round(6)
    array([0.1, 0.5, 0.7, 0.9])
    """

    scores: Doubles
    probabilities: Doubles

    def __call__(self, scores: Doubles) -> Doubles:
        """The probability of each score, in the same shape."""
        return np.interp(scores, self.scores, self.probabilities)

    def lowest_score(self, probability: float) -> float | None:
        """The lowest score with this probability or a larger one; None if no score has.

        >>> known = ProbabilityMap(np.array([0.2, 0.8]), np.array([0.1, 0.9]))
        >>> known.lowest_score(0.5), known.lowest_score(0.95)
        (0.5, None)
        """
        if self.probabilities[-1] < probability:
            return None
        return float(np.interp(probability, self.probabilities, self.scores))

    def equals(self, other: ProbabilityMap) -> bool:
        """Whether both have the same knots, to rounding."""
        both = ((self.scores, other.scores), (self.probabilities, other.probabilities))
        return all(a.shape == b.shape and np.allclose(a, b, rtol=0, atol=1e-6) for a, b in both)


def centered_isotonic(scores: Doubles, matches: Booleans) -> ProbabilityMap:
    """Fit a map to n >= 1 labeled pairs.

    Isotonic regression gives blocks of neighboring scores the share of matches among their pairs, such that the shares
    increase and the squared error is least. Its steps would map many scores to one probability; here the share of a
    block stands at the mean score of its pairs, with straight lines between the blocks.

    So that no probability is 0 or 1, two pairs are added: one that matches at the lowest score, and one that does not
    at the highest.

    Laws: an increasing linear map of the scores changes no probability; the negative scores with the opposite labels
    give the opposite probabilities.

    Args:
        scores: (n,) finite, higher for more similar pairs.
        matches: (n,) whether people call each pair the same.

    Raises:
        ValueError: no score, or a score that is not finite.

    >>> matches = np.array([False, False, True, False, True, True])
    >>> fitted = centered_isotonic(np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), matches)
    >>> fitted.scores.round(3), fitted.probabilities.round(3)
    (array([0.133, 0.35 , 0.567]), array([0.333, 0.5  , 0.667]))

    Source: oron-flournoy-2017-centered, section 3; without their intervals.
    """
    from scipy.optimize import isotonic_regression  # noqa: PLC0415 - of the extra `calibrate`; a fitted map does not need it

    if not len(scores) or not np.isfinite(scores).all():
        raise ValueError("scores must be finite, and at least one")
    padded = np.r_[scores, scores.min(), scores.max()]
    distinct, positions, counts = np.unique(padded, return_inverse=True, return_counts=True)
    shares = np.bincount(positions, np.r_[matches, True, False].astype(np.float64)) / counts
    fitted = isotonic_regression(shares, weights=counts)
    starts = fitted.blocks[:-1]
    centers = np.add.reduceat(distinct * counts, starts) / np.add.reduceat(counts, starts)
    return ProbabilityMap(centers, np.asarray(fitted.x[starts], np.float64))
