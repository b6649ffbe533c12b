"""Variance components of scores in contexts, which decide what a similarity distinguishes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semblance.models.embeddings import Doubles, unit_rows
from semblance_lab.origin.scoring.origin import Origin
from semblance_lab.origin.scoring.scoring import TERMS, centered, scores

SENTENCES = 32
CONTEXTS_EACH = 8


@dataclass(frozen=True, slots=True)
class VarianceDecomposition:
    """Variance components of the scores of s sentences in the same c contexts.

    With S_ij the score of sentence i in context j, m the mean of all, a_i and b_j the deviations of the means of row i
    and column j from m, and e_ij the rest::

        S_ij = m + a_i + b_j + e_ij        of the mean of (S_ij - m)^2, the means of a_i^2, b_j^2 and e_ij^2 are shares

    Attributes:
        level: m^2 over the mean of S_ij^2: near 1, all cosines are near 1.
        sentence: share of a_i: how likely a sentence is anywhere. The centred form removes it.
        context: share of b_j: how easy a context is for any sentence. Near 1, all correlations are near 1.
        both: share of e_ij: which sentence is likely in which context, the only component that depends on the meaning.
        cosine, centred: mean and standard deviation over all pairs of different sentences.
    """

    level: float
    sentence: float
    context: float
    both: float
    cosine: tuple[float, float]
    centred: tuple[float, float]


def decompose_variance(values: Doubles) -> VarianceDecomposition:
    """Decompose scores (s, c) with s, c >= 2. The shares are 0 if all scores are equal.

    >>> decompose_variance(np.array([[-1.0, -3.0], [-2.0, -4.0]])).context  # the second context is harder by 2 for both
    0.8
    """
    mean = values.mean()
    rows, columns = values.mean(axis=1) - mean, values.mean(axis=0) - mean
    rest = values - mean - rows[:, None] - columns
    shares = np.array([np.mean(each**2) for each in (rows, columns, rest)])
    total = float(np.mean((values - mean) ** 2))
    sentence, context, both = (shares / total if total > 0 else shares).tolist()
    level = float(mean**2 / max(np.mean(values**2), 1e-300))
    return VarianceDecomposition(
        level, sentence, context, both, _pair_cosines(values), _pair_cosines(centered(values.T).T)
    )


def variance_by_term(origin: Origin, texts: Sequence[str]) -> dict[str, VarianceDecomposition]:
    """Decompose the scores of some texts, at least two, in some contexts of each, by term.

    Terms whose weight is 0 are left out.

    Raises:
        BadTexts, BadCorpus: as `Origin.context_sets`.
    """
    sample = list(dict.fromkeys(texts))[:SENTENCES]
    contexts = np.concatenate([context_set.contexts[:CONTEXTS_EACH] for context_set in origin.context_sets(sample)])
    terms = np.stack(origin.terms(sample, [contexts] * len(sample)))
    weights = origin.contexts.weights
    used = [i for i, weight in enumerate(weights) if weight > 0]
    by_term = {TERMS[i]: decompose_variance(terms[:, :, i]) for i in used}
    return {"all terms": decompose_variance(scores(terms, weights)), **by_term}


def _pair_cosines(vectors: Doubles) -> tuple[float, float]:
    """Mean and standard deviation of the cosines of all pairs of rows."""
    unit = unit_rows(vectors)
    cosines = (unit @ unit.T)[np.triu_indices(len(unit), 1)]
    return float(cosines.mean()), float(cosines.std())
