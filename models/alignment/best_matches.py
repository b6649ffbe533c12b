"""Base of the measures that combine the best matches of both texts' tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeVar

import numpy as np

from semblance.models.alignment.token_matches import (
    all_tokens,
    best_match_means,
    own_tokens,
    pair_cosines,
    pair_means,
    whole_text,
)
from semblance.models.alignment.transport import column_plan, row_plan
from semblance.models.embeddings import Doubles, Floats, Needs, TokenEmbeddings
from semblance.models.explanation import Explanation
from semblance.models.text import Booleans

Value = TypeVar("Value", float, Doubles)


class BestMatches:
    """Combines the mean best cosine of the left tokens with that of the right ones.

    A subclass combines numbers, arrays of scores, or the two transport plans, by one formula.

    Attributes:
        matched: the tokens of a text that take part.
    """

    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    symmetric: ClassVar[bool] = True
    needs: ClassVar[Needs] = "tokens"
    matched = staticmethod(whole_text)

    @staticmethod
    def mass(embeddings: TokenEmbeddings) -> Booleans | Floats:
        """(n,) how much each token that takes part counts in the mean of its text."""
        return all_tokens(embeddings)

    def combined(self, forward: Value, backward: Value) -> Value:
        """s of both means, or the plan of both plans: their mean, or one of them."""
        return (forward + backward) / 2

    def score(self, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
        """s."""
        left, right = self.matched(a), self.matched(b)
        return float(self.combined(*pair_means(pair_cosines(left, right), self.mass(left), self.mass(right))))

    def score_many(self, query: TokenEmbeddings, candidates: Sequence[TokenEmbeddings]) -> Doubles:
        """(c,) s of the query with each candidate."""
        scores: Doubles = self.score_matrix([query], candidates)[0]
        return scores

    def score_matrix(self, left: Sequence[TokenEmbeddings], right: Sequence[TokenEmbeddings]) -> Doubles:
        """(c1, c2) s of each left text with each right one."""
        return self.combined(*best_match_means(left, right, self.mass, self.matched))

    def explain(self, a: TokenEmbeddings, b: TokenEmbeddings) -> Explanation:
        """Parts h_ij; where only words take part, special tokens have none."""
        left, right = self.matched(a), self.matched(b)
        own, others, cosines = self.mass(left), self.mass(right), pair_cosines(left, right)
        score = float(self.combined(*pair_means(cosines, own, others)))
        links = cosines.astype(np.float64)
        parts = self.combined(row_plan(links, own), column_plan(links, others)) * links
        similarity, contribution = np.zeros((2, len(a), len(b)))
        matched = np.ix_(own_tokens(a), own_tokens(b)) if self.needs != "tokens" else np.s_[:, :]
        similarity[matched], contribution[matched] = links, parts
        return Explanation.of(a, b, score=score, similarity=similarity, contribution=contribution)
