"""Scores of sentences in contexts (Eq. 3), their comparison (Eq. 4), and ablations of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from semblance.models.embeddings import Doubles, unit_rows
from semblance.models.errors import UnknownName

Form: TypeAlias = Literal["cosine", "centred", "double_centred"]
FORMS: tuple[Form, ...] = get_args(Form)
CERTAIN = 1e-7  # a log-probability this close to 0 is not told from 0: log-odds end at 16
TERMS = ("coherence", "centre", "left", "right")  # of Eq. 3, in the order of every array of terms

ContextPart: TypeAlias = Literal["left", "centre", "right"]
"""Which of three consecutive sentences is written from the two others, in Eq. 2."""

CONTEXT_PARTS: tuple[ContextPart, ...] = get_args(ContextPart)  # by sentence position


def validate_weights(weights: Sequence[float]) -> Doubles:
    """(4,) the lambdas of Eq. 3.

    Raises:
        ValueError: there are not four, one is negative or not finite, or all are zero.
    """
    array = np.asarray(weights, np.float64)
    if array.shape != (len(TERMS),) or not np.isfinite(array).all() or (array < 0).any() or not array.any():
        needed = f"{len(TERMS)} weights ({', '.join(TERMS)}), none below zero and not all zero"
        raise ValueError(f"scores in contexts need {needed}, not {tuple(weights)}")
    return array


def scores(terms: Doubles, weights: Sequence[float]) -> Doubles:
    """Scores of sentences in contexts: the weighted sum of four log-probabilities.

    For a sentence s between l and r, with |x| the tokens of x::

        S(s, c) = w1 log p(y=1 | s, l, r) + w2/|s| log p(s | l, r) + w3/|l| log p(l | s, r) + w4/|r| log p(r | l, s)

    Never above 0, as no weight is negative. A weight of 0 disables its model. The paper does not give the weights.
    `terms` (..., 4) are the log-probabilities, already divided by lengths.

    >>> terms = np.array([np.log(0.8), -12 / 6, -30 / 15, -21 / 14])
    >>> round(float(scores(terms, (1, 1, 1, 1))), 6)
    -5.723144

    Raises:
        ValueError: the weights are invalid.

    Source: sun-etal-2022-origin, Eq. 3.
    """
    summed: Doubles = terms @ validate_weights(weights)
    return summed


def relative_terms(terms: Doubles, references: Doubles) -> Doubles:
    """Terms of a sentence less the mean terms of other sentences in the same contexts.

    The double-centred form compares these. Coherence counts by its log-odds, log p - log(1 - p), which a classifier of
    true and wrong sentences learns as the logarithm of how much likelier the sentence is here than elsewhere. log p is
    near 0 wherever a sentence fits.

    Args:
        terms: (..., n, 4) of one or more sentences in n contexts.
        references: (r, n, 4) of r other sentences there.

    Returns:
        (..., n, 4), of either sign.
    """
    relative: Doubles = _with_log_odds(terms) - _with_log_odds(references).mean(axis=0)
    return relative


def _with_log_odds(terms: Doubles) -> Doubles:
    log_probability = np.minimum(terms[..., :1], -CERTAIN)
    return np.concatenate([log_probability - np.log(-np.expm1(log_probability)), terms[..., 1:]], axis=-1)


def similarity(a: Doubles, b: Doubles, form: Form = "cosine") -> float:
    """Similarity of two sentences by their scores (n,) in the contexts of both sets.

    ::

        cosine            a.b / (|a| |b|)                                          in [0, 1], as no score is above 0
        centred           the same of a - mean(a) and b - mean(b): Pearson's r     in [-1, 1]
        double_centred    centred, of the scores of `relative_terms`               in [-1, 1]

    Symmetric; 1 for equal vectors; 0 if one of them is all zeros or, centred, constant. Invariant to a positive factor
    on all weights.

    The paper uses the cosine. All scores are a few units below zero, so that their mean dominates both norms and the
    cosine is near 1 for any sentences; the centred form removes the mean. What remains is mostly how easy each context
    is for any sentence, which the double-centred form removes as well: only which sentence fits where is left.

    >>> a, b = np.array([-2, -3, -1.5, -4]), np.array([-2.5, -2.5, -2, -3.5])
    >>> round(similarity(a, b), 6), round(similarity(a, b, "centred"), 6)
    (0.984188, 0.925889)

    Source: sun-etal-2022-origin, Eq. 4; the centred forms are ours.
    """
    left, right = _directions(a, b, form)
    return float(np.clip(left @ right, -1.0, 1.0))  # rounding must not exceed the bounds


def _directions(a: Doubles, b: Doubles, form: Form) -> tuple[Doubles, Doubles]:
    """Centre both vectors if the form requires it, and scale them to unit length."""
    if form != "cosine":
        a, b = centered(a), centered(b)
    return unit_rows(a), unit_rows(b)


def centered(values: Doubles) -> Doubles:
    """(n, ...) minus the mean over n; zeros if only rounding errors remain."""
    moved: Doubles = values - values.mean(axis=0)
    tiny = 1e-12 * np.abs(values).max(axis=0, initial=0.0)
    return np.where(np.abs(moved).max(axis=0, initial=0.0) > tiny, moved, 0.0)


@dataclass(frozen=True, slots=True)
class Ablation:
    """Choice of contexts, and the terms of Eq. 3 that are used; by default all of Origin.

    Attributes:
        random: contexts are drawn from the whole corpus instead of being chosen in two steps.
        diverse: contexts are of different chunks, with different previous sentences.
        size: most contexts of a set; None for the size in the settings, which is the maximum.
        without: terms whose weight is 0. Candidates are always ranked by Eq. 1.
    """

    random: bool = False
    diverse: bool = True
    size: int | None = None
    without: frozenset[str] = frozenset()

    def full_size(self) -> Ablation:
        """The same with sets of the largest size; its own sets are their beginnings."""
        return replace(self, size=None)

    def remaining_weights(self, weights: tuple[float, ...]) -> tuple[float, ...]:
        """Weights with those of the removed terms set to 0."""
        return tuple(0.0 if name in self.without else w for name, w in zip(TERMS, weights, strict=True))


FULL = Ablation()
ABLATIONS: Mapping[str, Ablation] = {
    "random": Ablation(random=True),
    "without_diversity": Ablation(diverse=False),
    "contexts_20": Ablation(size=20),
    "contexts_100": Ablation(size=100),
    "contexts_500": Ablation(size=500),
    **{f"without_{term}": Ablation(without=frozenset({term})) for term in TERMS},
    "without_sides": Ablation(without=frozenset({"left", "right"})),
}


def ablations_below(size: int) -> list[str]:
    """Names of the ablations with sets smaller than `size`, or of the size in the settings."""
    return [name for name, each in ABLATIONS.items() if each.size is None or each.size < size]


@dataclass(frozen=True, slots=True)
class Variant:
    """An ablation and a form of the similarity.

    Its name is that of the form, prefixed with that of the ablation unless this is the full Origin.

    >>> Variant("cosine").name, Variant("centred", Ablation(random=True)).name
    ('cosine', 'random_centred')
    """

    form: Form
    ablation: Ablation = FULL

    @property
    def name(self) -> str:
        """Name for `find_variant`."""
        prefix = [name for name, each in ABLATIONS.items() if each == self.ablation]
        return "_".join([*prefix, self.form])


def find_variant(name: str, form: Form | None = None) -> Variant:
    """Find a variant by name; an ablation's name means its variant of `form`, if given.

    Raises:
        UnknownName: there is no such variant.
    """
    variants = {each.name: each for each in (Variant(f, a) for a in (FULL, *ABLATIONS.values()) for f in FORMS)}
    variant = variants.get(name) or (variants.get(f"{name}_{form}") if form else None)
    if variant is None:
        raise UnknownName("variants of Origin", name, [*FORMS, *ABLATIONS])
    return variant
