"""From terms to scores of a sentence in contexts, and from scores to how alike two sentences are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np

from semblance.models.embeddings import Doubles, unit_rows

Form: TypeAlias = Literal["cosine", "centred"]
FORMS: tuple[Form, ...] = get_args(Form)
TERMS = ("coherence", "centre", "left", "right")  # of Eq. 3, in the order of every array of terms


def checked_weights(weights: Sequence[float]) -> Doubles:
    """(4,) the lambdas of Eq. 3.

    Raises:
        ValueError: they are not one a term, one is negative or no finite number, or all are zero.
    """
    found = np.asarray(weights, np.float64)
    if found.shape != (len(TERMS),) or not np.isfinite(found).all() or (found < 0).any() or not found.any():
        asked = f"{len(TERMS)} weights ({', '.join(TERMS)}), none below zero and not all zero"
        raise ValueError(f"scores in contexts need {asked}, not {tuple(weights)}")
    return found


def scores(terms: Doubles, weights: Sequence[float]) -> Doubles:
    """The scores of sentences in contexts: the weighted sum of four logarithms of probabilities.

    For a sentence s between l and r, with |x| the tokens of x::

        S(s, c) = w1 log p(y=1 | s, l, r) + w2/|s| log p(s | l, r) + w3/|l| log p(l | s, r) + w4/|r| log p(r | l, s)

    Never above 0, as no weight is negative. A weight of 0 takes its model out. The paper leaves the weights open.
    `terms` (..., 4) are the logarithms, already divided by lengths.

    >>> terms = np.array([np.log(0.8), -12 / 6, -30 / 15, -21 / 14])
    >>> round(float(scores(terms, (1, 1, 1, 1))), 6)
    -5.723144

    Raises:
        ValueError: the weights will not do.

    Source: sun-etal-2022-origin, Eq. 3.
    """
    summed: Doubles = terms @ checked_weights(weights)
    return summed


def similarity(a: Doubles, b: Doubles, form: Form = "cosine") -> float:
    """How alike two sentences are by their scores (n,) in the same contexts, which are those of either joined.

    ::

        cosine     a.b / (|a| |b|)                                          in [0, 1], as no score is above 0
        centred    the same of a - mean(a) and b - mean(b): Pearson's r     in [-1, 1]

    Symmetric; 1 of equal vectors; 0 where one of them is all zeros or, centred, all one number. Unchanged by a
    positive factor on all weights.

    The paper has the cosine. All scores are a few units below zero, so that their mean makes most of both lengths and
    the cosine comes out near 1 whatever the sentences; the centred form takes the mean away.

    >>> a, b = np.array([-2, -3, -1.5, -4]), np.array([-2.5, -2.5, -2, -3.5])
    >>> round(similarity(a, b), 6), round(similarity(a, b, "centred"), 6)
    (0.984188, 0.925889)

    Source: sun-etal-2022-origin, Eq. 4; the centred form is ours.
    """
    left, right = _directions(a, b, form)
    return float(np.clip(left @ right, -1.0, 1.0))  # rounding must not push it out of its bounds


def _directions(a: Doubles, b: Doubles, form: Form) -> tuple[Doubles, Doubles]:
    """Both vectors at unit length, or all zeros, after their means were taken away if the form asks for it."""
    if form == "centred":
        a, b = centred(a), centred(b)
    return unit_rows(a), unit_rows(b)


def centred(values: Doubles) -> Doubles:
    """(n, ...) less the mean over n; zeros where nothing but rounding is left."""
    moved: Doubles = values - values.mean(axis=0)
    tiny = 1e-12 * np.abs(values).max(axis=0, initial=0.0)
    return np.where(np.abs(moved).max(axis=0, initial=0.0) > tiny, moved, 0.0)
