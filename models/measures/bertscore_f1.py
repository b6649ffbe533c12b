"""BERTScore: greedy matching, with the F1 of precision and recall."""

from __future__ import annotations

from typing import ClassVar, cast

import numpy as np

from semblance.models.alignment.best_matches import BestMatches, Value
from semblance.models.alignment.token_matches import cosine_matrix, own_tokens
from semblance.models.alignment.transport import column_plan, row_plan
from semblance.models.embeddings import Doubles, Needs, TokenEmbeddings
from semblance.models.explanation import Explanation


class BertscoreF1(BestMatches):
    """The harmonic mean of precision and recall, the means of best cosines in both directions.

    With X (n, d) and Y (m, d) the token vectors, C_ij = cos(x_i, y_j), and n' and m' the numbers of tokens that are not
    special::

        F    = 2 P R / (P + R)  if P > 0 and R > 0, else 0          in [0, 1]
        P    = (1/n') sum_i max_j C_ij   over left tokens i that are not special, and all j
        R    = (1/m') sum_j max_i C_ij   over right tokens j that are not special, and all i
        h_ij = C_ij / n' * R / (P + R)  if j = argmax_j' C_ij'
             + C_ij / m' * P / (P + R)  if i = argmax_i' C_i'j      sum_ij h_ij = F

    The left text is the paper's candidate, the right its reference; F is symmetric. 1 on identical texts; 0 on zero
    vectors. As in the authors' code, special tokens are excluded from both means but can be a best match. Neither idf
    nor token weights are used. Exact ties go to the lowest index.

    Departs from that code where P or R is not positive: the quotient is then unbounded or undefined; here F is 0, which
    is also its limit. In a text of special tokens only, all of them count. Scores are not rescaled by a baseline.

    Prefer it to compare with the literature on generated texts; `rcmd` is the same matching with an arithmetic mean and
    with special tokens counted.

    Costs n m d multiplications a pair.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> from semblance.models.text import TokenizedText
    >>> def embeddings(vectors):
    ...     ids, spans = np.zeros(len(vectors), np.int32), np.zeros((len(vectors), 2), np.int32)
    ...     text = TokenizedText("", ids, spans, np.array([-1] + [0] * (len(vectors) - 1), np.int32))
    ...     return TokenEmbeddings(np.array(vectors, np.float32), np.ones(len(vectors), np.float32), text)
    >>> a, b = embeddings([[1, 0], [3, 4]]), embeddings([[1, 0], [1, 0], [4, 3]])
    >>> round(BertscoreF1().score(a, b), 6)  # P = 0.96, R = (1 + 0.96) / 2
    0.969897

    Raises:
        ValueError: when the embeddings hold only pooled vectors, or no text.

    Source: zhang-etal-2020-bertscore, section 3.
    """

    name: ClassVar[str] = "bertscore_f1"
    reference: ClassVar[str] = "zhang-etal-2020-bertscore, sec. 3, F_BERT without idf"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    needs: ClassVar[Needs] = "own_tokens"
    mass = staticmethod(own_tokens)

    def combined(self, forward: Value, backward: Value) -> Value:
        """F of precision and recall."""
        of_precision, of_recall = _shares(forward, backward)
        return cast("Value", np.minimum(forward * of_precision + backward * of_recall, 1.0))  # rounding may exceed 1

    def explain(self, a: TokenEmbeddings, b: TokenEmbeddings) -> Explanation:
        """Parts h_ij."""
        cosines = cosine_matrix(a, b)
        rows, columns = row_plan(cosines, own_tokens(a)), column_plan(cosines, own_tokens(b))
        of_precision, of_recall = _shares((rows * cosines).sum(), (columns * cosines).sum())
        parts = (of_precision * rows + of_recall * columns) * cosines
        return Explanation.of(a, b, score=self.score(a, b), similarity=cosines, contribution=parts)


def _shares(precision: Doubles | float, recall: Doubles | float) -> tuple[Doubles, Doubles]:
    """Weights of precision and recall in F: R / (P + R) and P / (P + R), or 0 where F is 0."""
    defined = (precision > 0) & (recall > 0)
    total = np.where(defined, precision + recall, 1.0)
    return np.where(defined, recall / total, 0.0), np.where(defined, precision / total, 0.0)
