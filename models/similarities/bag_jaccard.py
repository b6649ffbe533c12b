"""Jaccard index of two bags of tokens."""

from __future__ import annotations

from typing import ClassVar

from semblance.models.embeddings import Needs, TokenEmbeddings
from semblance.models.explanation import Explanation
from semblance.models.measures.fuzzy_sets import jaccard, word_bag, word_set
from semblance.models.measures.pairwise import one_by_one


class BagJaccard:
    """The share of tokens that two texts have in common, repeated ones counted: `set_jaccard` for bags.

    With A_w and B_w how often id w stands in each text, special tokens left out::

        s    = sum_w min(A_w, B_w) / sum_w max(A_w, B_w)             in [0, 1]
        h_ij = 1 / sum_w max(A_w, B_w) where i and j are the
               k-th tokens of the same id, for any k, else 0         sum_ij h_ij = s

    Symmetric; 1 on texts with the same tokens in any order; 0 on disjoint texts, and where a side has no token of its
    own, or neither has (0/0). A link's similarity is 1 between equal tokens and 0 otherwise. Nothing is special: such
    tokens take no part.

    A token is what the encoder's tokenizer makes of the text, a piece of a word maybe, lower-cased if it does so; the
    paper has words. Every word that the vocabulary lacks has the same id, so all such words count as equal.

    Prefer it to `set_jaccard` for long texts, where how often a word stands tells more than whether it does.

    Costs n + m look-ups a pair; in a search, documents are encoded anew, since token codes do not keep the words.

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
        ValueError: when the embeddings do not know their text.

    Source: zhelezniak-etal-2019-dynamax, the baseline bag Jaccard of its code.
    """

    name: ClassVar[str] = "bag_jaccard"
    reference: ClassVar[str] = "zhelezniak-etal-2019-dynamax, baseline bag Jaccard"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    symmetric: ClassVar[bool] = True
    needs: ClassVar[Needs] = "words"

    def score(self, a: TokenEmbeddings, b: TokenEmbeddings) -> float:
        """s."""
        return word_bag(a, b).score(jaccard)

    score_many = one_by_one

    def explain(self, a: TokenEmbeddings, b: TokenEmbeddings) -> Explanation:
        """The parts h_ij."""
        bags, words = word_bag(a, b), word_set(a, b)
        equal = words.left @ words.right.T
        return Explanation.of(a, b, score=bags.score(jaccard), similarity=equal, contribution=bags.parts(jaccard))
