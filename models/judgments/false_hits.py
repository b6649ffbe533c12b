"""A cut with a bound on false hits: the scores above it are rare among pairs that differ."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.text import Booleans

CONFIDENCE = 0.95
EVEN_ODDS = 0.0  # lowest cut, as log-odds: below it, a pair differs more probably than not


@dataclass(frozen=True, slots=True)
class BoundedCut:
    """A cut, and the labeled pairs whose scores reach it.

    Attributes:
        cut: log-odds from which pairs are taken for the same.
        allowed: share of the pairs that differ which may be taken for the same, from 0 to 1.
        different: number of pairs that differ.
        false_hits: those of them that are taken for the same.
        same: number of pairs that are the same.
        hits: those of them that are taken for the same.
    """

    cut: float
    allowed: float
    different: int
    false_hits: int
    same: int
    hits: int


def bounded_cut(log_odds: Doubles, matches: Booleans, allowed: float) -> BoundedCut | None:
    """The lowest cut that keeps the share of false hits below a bound, with 95 % confidence.

    Of n pairs that differ, drawn independently, more than a share `allowed` of all such pairs lie above the k-th
    highest score with the probability that a binomial number of n trials is below k. k is the largest for which that is
    5 % at most, so the bound is exact whatever the distribution (wilks-1941-tolerance; tong-2018-neyman).

    Args:
        log_odds: (n,) of each pair; -inf for pairs that are never taken for the same.
        matches: (n,) whether the pair is the same.
        allowed: share of false hits among the pairs that differ, above 0 and below 1.

    Returns:
        None if the pairs are too few, or too many of those that differ have infinite log-odds.
    """
    from scipy.stats import binom  # noqa: PLC0415 - of the extra `calibrate`; a fitted cut does not need it

    highest = np.sort(log_odds[~matches])[::-1]
    above = int(binom.ppf(1 - CONFIDENCE, len(highest), allowed)) - 1
    if above < 0 or np.isposinf(highest[above]):
        return None
    cut = max(float(np.nextafter(highest[above], np.inf)), EVEN_ODDS)
    taken = log_odds >= cut
    return BoundedCut(
        cut=cut,
        allowed=allowed,
        different=len(highest),
        false_hits=int((taken & ~matches).sum()),
        same=int(matches.sum()),
        hits=int((taken & matches).sum()),
    )


def pairs_needed(allowed: float) -> int:
    """The least number of pairs that differ from which a cut with this bound can be told.

    >>> pairs_needed(0.01)
    299
    """
    return math.ceil(math.log(1 - CONFIDENCE) / math.log1p(-allowed))


def least_allowed(different: int) -> float:
    """The lowest bound that this number of pairs that differ is enough for.

    >>> round(least_allowed(299), 4)
    0.01
    """
    return float(-math.expm1(math.log(1 - CONFIDENCE) / different))
