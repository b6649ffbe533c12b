"""Where scores in contexts differ, and so why one form of the similarity tells sentences apart and another does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semblance.models.embeddings import Doubles, unit_rows
from semblance.models.origin.scoring.origin import Origin
from semblance.models.origin.scoring.scoring import TERMS, centred, scores

SENTENCES = 32
CONTEXTS_EACH = 8


@dataclass(frozen=True, slots=True)
class Spread:
    """What the scores of s sentences in the same c contexts are made of.

    With S_ij the score of sentence i in context j, m the mean of all, a_i and b_j what the means of row i and of column
    j are above m, and e_ij the rest::

        S_ij = m + a_i + b_j + e_ij        of the mean of (S_ij - m)^2, the means of a_i^2, b_j^2 and e_ij^2 are shares

    Attributes:
        level: m^2 over the mean of S_ij^2: near 1, all cosines are near 1.
        sentence: share of a_i: how likely a sentence is anywhere. The centred form takes it away.
        context: share of b_j: how easy a context is for any sentence. Near 1, all correlations are near 1.
        both: share of e_ij: which sentence is likely in which context, the only one that tells what sentences mean.
        cosine, centred: mean and standard deviation over all pairs of different sentences.
    """

    level: float
    sentence: float
    context: float
    both: float
    cosine: tuple[float, float]
    centred: tuple[float, float]


def spread(found: Doubles) -> Spread:
    """Of scores (s, c) with s, c >= 2. The shares are 0 where all scores are equal.

    >>> spread(np.array([[-1.0, -3.0], [-2.0, -4.0]])).context  # either sentence finds the second context 2 harder
    0.8
    """
    mean = found.mean()
    rows, columns = found.mean(axis=1) - mean, found.mean(axis=0) - mean
    rest = found - mean - rows[:, None] - columns
    shares = np.array([np.mean(each**2) for each in (rows, columns, rest)])
    total = float(np.mean((found - mean) ** 2))
    sentence, context, both = (shares / total if total > 0 else shares).tolist()
    level = float(mean**2 / max(np.mean(found**2), 1e-300))
    return Spread(level, sentence, context, both, _between(found), _between(centred(found.T).T))


def spreads(origin: Origin, texts: Sequence[str]) -> dict[str, Spread]:
    """Of the first different texts, at least two, in some contexts of each: by what is looked at, all or one term.

    Raises:
        BadTexts, BadCorpus: as `Origin.context_sets`.
    """
    some = list(dict.fromkeys(texts))[:SENTENCES]
    contexts = np.concatenate([each.contexts[:CONTEXTS_EACH] for each in origin.context_sets(some)])
    terms = np.stack(origin.terms(some, [contexts] * len(some)))
    one = {name: spread(terms[:, :, i]) for i, name in enumerate(TERMS)}
    return {"all terms": spread(scores(terms, origin.contexts.weights)), **one}


def _between(vectors: Doubles) -> tuple[float, float]:
    """Mean and standard deviation of the cosines of all pairs of rows."""
    unit = unit_rows(vectors)
    cosines = (unit @ unit.T)[np.triu_indices(len(unit), 1)]
    return float(cosines.mean()), float(cosines.std())
