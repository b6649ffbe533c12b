"""RCMD of words among which function words count a tenth, one way."""

from __future__ import annotations

from typing import ClassVar

from semblance.models.alignment.best_matches import Value
from semblance.models.measures.rcmd_content import RcmdContent


class Rcmd1Content(RcmdContent):
    """`rcmd1_words` with a tenth of the mass for function words and punctuation.

    With X (n, d) and Y (m, d) the vectors of the tokens that are not special, C_ij = cos(x_i, y_j), and w_i the mass
    of the token x_i as in `rcmd_content`::

        s1   = sum_i w_i max_j C_ij / sum_i w_i          in [-1, 1]
        h_ij = C_ij w_i / sum w  if j = argmax_j' C_ij', else 0     sum_ij h_ij = s1

    Not symmetric: left is the query, right the document. 1 if the right text has every left token; 0 on zero vectors.
    Departs from the paper as `rcmd_content` does. Exact ties go to the lowest j.

    Prefer it where words are marked for what the query says, as in highlights; to order the hits of a search,
    `rcmd1_words` is better.

    Costs n m d multiplications a pair, and a lookup of each word.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> from semblance.models.text import TokenizedText
    >>> def embeddings(text, vectors):
    ...     ends = np.cumsum([len(word) + 1 for word in text.split()]) - 1
    ...     spans = np.stack([ends - [len(word) for word in text.split()], ends], axis=1).astype(np.int32)
    ...     numbers = np.arange(len(vectors), dtype=np.int32)
    ...     tokens = TokenizedText(text, numbers, spans, numbers)
    ...     return TokenEmbeddings(np.array(vectors, np.float32), np.ones(len(vectors), np.float32), tokens)
    >>> a, b = embeddings("the cat", [[1, 0], [0, 1]]), embeddings("dogs", [[4, 3]])
    >>> round(Rcmd1Content().score(a, b), 6)  # (0.1 * 0.8 + 1 * 0.6) / 1.1
    0.618182

    Raises:
        ValueError: when the embeddings hold only pooled vectors, or no text.

    Source: lee-etal-2022-clrcmd, section 3 (1 - d_RCMD1), with masses in the manner of arora-etal-2017-sif.
    """

    name: ClassVar[str] = "rcmd1_content"
    reference: ClassVar[str] = "lee-etal-2022-clrcmd, sec. 3, 1 - d_RCMD1, with less mass for function words"
    symmetric: ClassVar[bool] = False

    def combined(self, forward: Value, backward: Value) -> Value:
        """s1, or its plan."""
        del backward
        return forward
