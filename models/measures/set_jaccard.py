"""Jaccard index of two sets of tokens."""

from __future__ import annotations

from typing import ClassVar

from semblance.models.alignment.fuzzy_sets import SharedTokens, jaccard, word_set


class SetJaccard(SharedTokens):
    """The share of distinct tokens that two texts have in common; it ignores vectors.

    With A and B the sets of token ids, without special tokens::

        s    = |A ∩ B| / |A ∪ B|                                     in [0, 1]
        h_ij = 1 / |A ∪ B| where i and j are the first
               tokens of a shared id, else 0                         sum_ij h_ij = s

    Symmetric; 1 on texts with the same tokens, in any order and number; 0 on disjoint texts, and where one text or both
    (0/0) have special tokens only. A link's similarity is 1 between equal tokens and 0 otherwise. Special tokens
    contribute 0.

    Tokens are those of the encoder's tokenizer, possibly subwords or lower-cased; the paper has words. All words that
    are not in the vocabulary have the same id, and so count as equal.

    Prefer it as the baseline that any measure on vectors must beat, or where only identical words should count.

    Costs n + m look-ups a pair.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> from semblance.models.text import TokenizedText
    >>> def words(*ids: int) -> TokenEmbeddings:
    ...     places = np.arange(len(ids), dtype=np.int32)
    ...     tokens = TokenizedText("", np.array(ids, np.int32), np.zeros((len(ids), 2), np.int32), places)
    ...     return TokenEmbeddings(np.zeros((len(ids), 1), np.float32), np.ones(len(ids), np.float32), tokens)
    >>> SetJaccard().score(words(7, 8, 7), words(7, 7, 9, 5))  # of 5, 7, 8, 9 only 7 is shared
    0.25

    Raises:
        ValueError: when the embeddings have no text.

    Source: zhelezniak-etal-2019-dynamax, the baseline set Jaccard of its code.
    """

    name: ClassVar[str] = "set_jaccard"
    reference: ClassVar[str] = "zhelezniak-etal-2019-dynamax, baseline set Jaccard"
    universe = staticmethod(word_set)
    formula = staticmethod(jaccard)
