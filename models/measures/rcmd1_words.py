"""RCMD without special tokens, left to right."""

from __future__ import annotations

from typing import ClassVar

from semblance.models.alignment.best_matches import BestMatches, Value
from semblance.models.alignment.token_matches import words_only
from semblance.models.embeddings import Needs


class Rcmd1Words(BestMatches):
    """`rcmd1` over the tokens of the texts themselves, without special tokens.

    With X (n, d) and Y (m, d) the vectors of the tokens that are not special, and C_ij = cos(x_i, y_j)::

        s1   = (1/n) sum_i max_j C_ij                    in [-1, 1]
        h_ij = C_ij / n  if j = argmax_j' C_ij', else 0  sum_ij h_ij = s1

    Not symmetric: left is the query, right the document. 1 if the right text has every left token; 0 on zero vectors.
    Departs from the paper as `rcmd_words` does. Exact ties go to the lowest j.

    Prefer it to rescore the hits of a search: additional words of the document do not lower the score, and all of it
    comes from words.

    Costs n m d multiplications a pair.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> from semblance.models.text import TokenizedText
    >>> def embeddings(vectors):
    ...     ids, spans = np.zeros(len(vectors), np.int32), np.zeros((len(vectors), 2), np.int32)
    ...     text = TokenizedText("", ids, spans, np.array([-1] + [0] * (len(vectors) - 1), np.int32))
    ...     return TokenEmbeddings(np.array(vectors, np.float32), np.ones(len(vectors), np.float32), text)
    >>> a, b = embeddings([[1, 0], [3, 4]]), embeddings([[3, 4], [1, 0], [4, 3]])  # the first token is special
    >>> round(Rcmd1Words().score(b, a), 6)  # (1, 0) and (4, 3) are both matched with (3, 4)
    0.78

    Raises:
        ValueError: when the embeddings hold only pooled vectors, or no text.

    Source: lee-etal-2022-clrcmd, section 3 (1 - d_RCMD1), without special tokens.
    """

    name: ClassVar[str] = "rcmd1_words"
    reference: ClassVar[str] = "lee-etal-2022-clrcmd, sec. 3, 1 - d_RCMD1, without special tokens"
    needs: ClassVar[Needs] = "own_tokens"
    matched = staticmethod(words_only)
    symmetric: ClassVar[bool] = False

    def combined(self, forward: Value, backward: Value) -> Value:
        """s1, or its plan."""
        del backward
        return forward
