"""Word mover's similarity: minus the exact transport distance between token vectors."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semblance.models.alignment.pairwise import score_pairwise
from semblance.models.alignment.token_matches import distance_matrix
from semblance.models.alignment.transport import exact_plan
from semblance.models.embeddings import Needs, TokenEmbeddings
from semblance.models.explanation import Explanation


class WordMovers:
    """Minus the transport distance of one text's tokens to the other's, in equal shares.

    With X (n, d) and Y (m, d) the token vectors, d_ij = |x_i - y_j| and T (n, m) >= 0 whose rows sum to 1/n and whose
    columns sum to 1/m::

        s    = -min_T sum_ij T_ij d_ij                   in (-inf, 0]
        h_ij = -T_ij d_ij                                sum_ij h_ij = s

    Symmetric; 0 on identical texts and on zero vectors, negative otherwise. A link's similarity is -d_ij. Scores scale
    with the encoder's vectors: compare scores of one model only.

    Each token has mass 1/n, so a word that occurs twice has twice the mass: with one vector per word, as in the paper,
    that is its normalized bag-of-words weight. Here vectors depend on the context, and all subwords and special tokens
    count; token weights are not used, and stop words are not removed.

    Prefer it for static word vectors, for which it was designed, and to compare with the literature; `cmd` is the same
    transport under cosines.

    Costs n m d multiplications a pair and then a linear program of n m unknowns, as `cmd`.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> a = TokenEmbeddings(np.array([[0, 0], [3, 4]], np.float32), np.ones(2, np.float32))
    >>> b = TokenEmbeddings(np.array([[0, 0]], np.float32), np.ones(1, np.float32))
    >>> WordMovers().score(a, b)
    -2.5

    Raises:
        ValueError: when the embeddings hold only pooled vectors.

    Source: kusner-etal-2015-wmd, section 4, solved by flamary-etal-2021-pot.
    """

    name: ClassVar[str] = "word_movers"
    reference: ClassVar[str] = "kusner-etal-2015-wmd, sec. 4, minus the word mover's distance"
    bounds: ClassVar[tuple[float, float]] = (-np.inf, 0.0)
    symmetric: ClassVar[bool] = True
    needs: ClassVar[Needs] = "tokens"
    package: ClassVar[str] = "ot"

    def score(self, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
        """s."""
        distances = distance_matrix(a, b)
        return 0.0 - float((exact_plan(distances) * distances).sum())

    score_many = score_pairwise

    def explain(self, a: TokenEmbeddings, b: TokenEmbeddings) -> Explanation:
        """Parts h_ij."""
        distances = distance_matrix(a, b)
        parts = 0.0 - exact_plan(distances) * distances
        return Explanation.of(a, b, score=float(parts.sum()), similarity=0.0 - distances, contribution=parts)
