"""Explain a similarity by the contribution of each context, and of each term in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semblance.models.embeddings import Doubles, Integers
from semblance_lab.origin.scoring.scoring import TERMS, Form, centered, validate_weights


@dataclass(frozen=True, slots=True)
class Reason:
    """A context: its number, the sentences around the gap, and its contribution to the score.

    `scores` are those of both sentences in it, `parts` the contribution of each term by name.
    """

    context: int
    left: str
    right: str
    contribution: float
    scores: tuple[float, float]
    parts: dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class ContextExplanation:
    """A score as a sum over contexts, and over the terms of Eq. 3 in each.

    With v1 and v2 (n,) the scores of both sentences in the joined contexts, and t1c and t2c one weighted term of them::

        context c           v1c v2c / (|v1| |v2|)
        term t of it        (t1c v2c + v1c t2c) / (2 |v1| |v2|)

    Both sum to the score. The same holds for the centred form, with the mean over the contexts subtracted from v1, v2
    and every term: the terms of a context still sum to its contribution. The double-centred form is the centred form of
    the terms relative to other sentences.

    In the cosine, contexts contribute most where both sentences are least likely, as scores are logarithms; in the
    centred forms, where both are more likely than on average, or both less.

    Attributes:
        form: of the similarity.
        score: similarity of the sentences in that form.
        contexts: (n,) their numbers, each once; a context in the sets of both sentences contributes twice.
        scores: (2, n) v1 and v2.
        parts: (n, 4) contribution of each term of each context.
    """

    form: Form
    score: float
    contexts: Integers
    scores: Doubles
    parts: Doubles

    @classmethod
    def of(
        cls, contexts: Integers, first: Doubles, second: Doubles, weights: Sequence[float], form: Form
    ) -> ContextExplanation:
        """Explain from the terms (n, 4) of both sentences in the same contexts, with duplicates.

        Of the double-centred form, they are those of `relative_terms`.

        Raises:
            ValueError: the weights are invalid.
        """
        a, b = (terms * validate_weights(weights) for terms in (first, second))
        v1, v2 = a.sum(axis=1), b.sum(axis=1)
        first_shares, second_shares = _unit_terms(a, v1, form), _unit_terms(b, v2, form)
        unit1, unit2 = (shares.sum(axis=1, keepdims=True) for shares in (first_shares, second_shares))
        parts = (first_shares * unit2 + unit1 * second_shares) / 2
        each, at, owners = np.unique(contexts, return_index=True, return_inverse=True)
        summed = np.zeros((len(each), len(TERMS)))
        np.add.at(summed, owners, parts)
        return cls(form, float(parts.sum()), each, np.stack([v1, v2])[:, at], summed)

    @property
    def by_context(self) -> Doubles:
        """(n,) contribution of each context."""
        return np.asarray(self.parts.sum(axis=1))

    @property
    def by_term(self) -> dict[str, float]:
        """Contribution of each term over all contexts."""
        return dict(zip(TERMS, self.parts.sum(axis=0).tolist(), strict=True))

    def top(self, n: int) -> Integers:
        """Positions of the n contexts with the largest contributions, largest first."""
        return np.argsort(-self.by_context, kind="stable")[:n]

    def reason(self, position: int, left: str, right: str) -> Reason:
        """The context at a position, with the given texts."""
        v1, v2 = self.scores[:, position].tolist()
        parts = self.parts[position]
        return Reason(
            int(self.contexts[position]),
            left,
            right,
            float(parts.sum()),
            (v1, v2),
            dict(zip(TERMS, parts.tolist(), strict=True)),
        )


def _unit_terms(terms: Doubles, scores: Doubles, form: Form) -> Doubles:
    """(n, 4) terms, centred or not, over the norm of the scores: rows sum to a unit vector."""
    if form != "cosine":
        terms, scores = centered(terms), centered(scores)
    length = float(np.linalg.norm(scores))
    return np.zeros_like(terms) if length == 0 else terms / length
