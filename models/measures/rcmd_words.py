"""RCMD without special tokens, both ways."""

from __future__ import annotations

from typing import ClassVar

from semblance.models.alignment.best_matches import BestMatches
from semblance.models.alignment.token_matches import words_only
from semblance.models.embeddings import Needs


class RcmdWords(BestMatches):
    """`rcmd` over the tokens of the texts themselves, without special tokens.

    With X (n, d) and Y (m, d) the vectors of the tokens that are not special, and C_ij = cos(x_i, y_j)::

        s    = (s1 + s2) / 2
        s1   = (1/n) sum_i max_j C_ij
        s2   = (1/m) sum_j max_i C_ij                    in [-1, 1]
        h_ij = C_ij / (2 n)  if j = argmax_j' C_ij'
             + C_ij / (2 m)  if i = argmax_i' C_i'j      sum_ij h_ij = s

    Symmetric; 1 on identical texts; 0 on zero vectors. Invariant as `rcmd`. Departs from the paper, in which [CLS] and
    [SEP] count: their links are a quarter of the score of a sentence, and most of that of a short text, and explain
    nothing. Exact ties go to the lowest index. In a text of special tokens only, all of them count.

    Prefer it wherever the links are read: all of the score comes from words.

    Costs n m d multiplications a pair.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> from semblance.models.text import TokenizedText
    >>> def embeddings(vectors):
    ...     ids, spans = np.zeros(len(vectors), np.int32), np.zeros((len(vectors), 2), np.int32)
    ...     text = TokenizedText("", ids, spans, np.array([-1] + [0] * (len(vectors) - 1), np.int32))
    ...     return TokenEmbeddings(np.array(vectors, np.float32), np.ones(len(vectors), np.float32), text)
    >>> a, b = embeddings([[1, 0], [3, 4]]), embeddings([[3, 4], [1, 0], [4, 3]])  # the first token is special
    >>> round(RcmdWords().score(a, b), 6)  # s1 is that of (3, 4) and (4, 3), as is the best of s2; (1, 0) has 0.6
    0.87

    Raises:
        ValueError: when the embeddings hold only pooled vectors, or no text.

    Source: lee-etal-2022-clrcmd, section 3, without special tokens.
    """

    name: ClassVar[str] = "rcmd_words"
    reference: ClassVar[str] = "lee-etal-2022-clrcmd, sec. 3, without special tokens"
    needs: ClassVar[Needs] = "own_tokens"
    matched = staticmethod(words_only)
