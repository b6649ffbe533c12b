"""Jaccard index of two bags of tokens."""

from __future__ import annotations

from typing import ClassVar

from semblance.models.alignment.fuzzy_sets import SharedTokens, jaccard, word_bag


class BagJaccard(SharedTokens):
    """The share of tokens that two texts have in common, counting repetitions.

    With A_w and B_w the counts of id w in each text, without special tokens::

        s    = sum_w min(A_w, B_w) / sum_w max(A_w, B_w)             in [0, 1]
        h_ij = 1 / sum_w max(A_w, B_w) where i and j are the
               k-th tokens of the same id, for any k, else 0         sum_ij h_ij = s

    Symmetric; 1 on texts with the same tokens in any order; 0 on disjoint texts, and where one text or both (0/0) have
    special tokens only. A link's similarity is 1 between equal tokens and 0 otherwise. Special tokens contribute 0.

    Tokens are those of the encoder's tokenizer, possibly subwords or lower-cased; the paper has words. All words that
    are not in the vocabulary have the same id, and so count as equal.

    Prefer it to `set_jaccard` for long texts, where the count of a word is more informative than its presence.

    Costs n + m look-ups a pair.

    >>> import numpy as np
    >>> from semblance.models.embeddings import TokenEmbeddings
    >>> from semblance.models.text import TokenizedText
    >>> def words(*ids: int) -> TokenEmbeddings:
    ...     places = np.arange(len(ids), dtype=np.int32)
    ...     tokens = TokenizedText("", np.array(ids, np.int32), np.zeros((len(ids), 2), np.int32), places)
    ...     return TokenEmbeddings(np.zeros((len(ids), 1), np.float32), np.ones(len(ids), np.float32), tokens)
    >>> BagJaccard().score(words(7, 8, 7), words(7, 7, 9, 5))  # two 7 are shared; 8, 9 and 5 are not
    0.4

    Raises:
        ValueError: when the embeddings have no text.

    Source: zhelezniak-etal-2019-dynamax, the baseline bag Jaccard of its code.
    """

    name: ClassVar[str] = "bag_jaccard"
    reference: ClassVar[str] = "zhelezniak-etal-2019-dynamax, baseline bag Jaccard"
    universe = staticmethod(word_bag)
    formula = staticmethod(jaccard)
