"""Why two sentences are alike: what each context, and each term in it, adds to the score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semblance.models.embeddings import Doubles, Integers
from semblance.models.origin.scoring.scoring import TERMS, Form, centred, checked_weights


@dataclass(frozen=True, slots=True)
class Reason:
    """One context: its number, the sentences around the gap, and what it adds to the score.

    `scores` are those of either sentence in it, `parts` what each term adds by name.
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

    Both sum to the score. The same holds for the centred form, with the mean over the contexts taken away from v1, v2
    and every term: the terms of a context still sum to its score.

    By the cosine, a context adds most where both sentences are least likely, as the scores are logarithms; by the
    centred form it adds where both are more likely than elsewhere, or both less.

    Attributes:
        score: how alike the sentences are, in that form.
        contexts: (n,) their numbers, each once; one that is in the sets of both sentences adds twice as much.
        scores: (2, n) v1 and v2.
        parts: (n, 4) what each term of each context adds.
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
        """From the terms (n, 4) of both sentences in the same contexts, in which one may come twice.

        Raises:
            ValueError: the weights will not do.
        """
        a, b = (terms * checked_weights(weights) for terms in (first, second))
        v1, v2 = a.sum(axis=1), b.sum(axis=1)
        first_shares, second_shares = _divided(a, v1, form), _divided(b, v2, form)
        unit1, unit2 = (shares.sum(axis=1, keepdims=True) for shares in (first_shares, second_shares))
        parts = (first_shares * unit2 + unit1 * second_shares) / 2
        each, at, owners = np.unique(contexts, return_index=True, return_inverse=True)
        added = np.zeros((len(each), len(TERMS)))
        np.add.at(added, owners, parts)
        return cls(form, float(parts.sum()), each, np.stack([v1, v2])[:, at], added)

    @property
    def by_context(self) -> Doubles:
        """(n,) what each context adds."""
        return np.asarray(self.parts.sum(axis=1))

    @property
    def by_term(self) -> dict[str, float]:
        """What each term adds over all contexts."""
        return dict(zip(TERMS, self.parts.sum(axis=0).tolist(), strict=True))

    def top(self, n: int) -> Integers:
        """The positions of the n contexts that add most, the most first."""
        return np.argsort(-self.by_context, kind="stable")[:n]

    def reason(self, position: int, left: str, right: str) -> Reason:
        """The context at a position, with its text."""
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


def _divided(terms: Doubles, scores: Doubles, form: Form) -> Doubles:
    """(n, 4) the terms, centred if need be, over the length of their sum: they sum to its direction."""
    if form == "centred":
        terms, scores = centred(terms), centred(scores)
    length = float(np.linalg.norm(scores))
    return np.zeros_like(terms) if length == 0 else terms / length
