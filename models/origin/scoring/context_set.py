"""Which contexts a sentence is scored in: the best ones that differ from each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from semblance.models.embeddings import Doubles, Integers


@dataclass(frozen=True, slots=True, eq=False)
class ContextSet:
    """The contexts of one sentence.

    Attributes:
        contexts: (n,) their numbers, best first; those that top up come after the others.
        terms: (n, 4) the terms of Eq. 3 of the sentence in each.
        fallback: whether they stand around the nearest sentences, as the text shares no bigram with the corpus.
        topped_up: whether the last ones do, as too few chunks share a bigram with the text.
        truncated: whether the text was cut to the tokens that the models read.
    """

    contexts: Integers
    terms: Doubles
    fallback: bool = False
    topped_up: bool = False
    truncated: bool = False

    def __len__(self) -> int:
        return len(self.contexts)

    def first(self, n: int) -> ContextSet:
        """The best n, which are the set of that size."""
        return replace(self, contexts=self.contexts[:n], terms=self.terms[:n])


def best_that_differ(
    scores: Doubles, chunks: NDArray[np.integer], previous: Sequence[str], size: int, overlap: float
) -> Integers:
    """The positions of at most `size` of k contexts, best first, chosen greedily.

    From the highest score down, a context is taken unless one that is taken already lies in the same chunk, or has a
    previous sentence too much like its own: with W(x) the set of lower-cased words of x, between white space::

        |W(x) & W(y)| / |W(x) | W(y)| >= overlap        1 where neither has a word

    These are the words of the paper's example, not those by which chunks are screened: punctuation stays, and a text
    without white space is one word. So a choice of n is the beginning of any larger one. Equal scores go in the order
    given.

    Args:
        scores: (k,) by Eq. 3.
        chunks: (k,) the chunk of each context.
        previous: (k,) the sentence that stands on the left of each.
        size: most contexts that are taken.
        overlap: 0.5 in the paper; at 1 or above previous sentences are not looked at.

    >>> previous = ["the dog ran home", "it was a dark night", "the dog ran away", "stocks fell on monday"]
    >>> best_that_differ(np.array([-1.0, -2.0, -3.0, -4.0]), np.array([1, 1, 2, 3]), previous, 3, 0.5)
    array([0, 3])

    Source: sun-etal-2022-origin, the choice of contexts.
    """
    order = np.argsort(-scores, kind="stable")
    words = _words([previous[i] for i in order])
    sizes = words.sum(axis=1)
    own_chunks = np.asarray(chunks)[order]
    free = np.ones(len(order), np.bool_)
    taken: list[int] = []
    for i in range(len(order)):
        if len(taken) == size:
            break
        if not free[i]:
            continue
        taken.append(i)
        free &= own_chunks != own_chunks[i]
        if overlap < 1:
            shared = words @ words[[i]].toarray()[0]
            joined = sizes + sizes[i] - shared
            free &= np.divide(shared, joined, out=np.ones(len(order)), where=joined > 0) < overlap
    return order[np.array(taken, np.int64)]


def _words(texts: Sequence[str]) -> csr_array:
    """(texts, words) 1 where a text has a word."""
    columns: dict[str, int] = {}
    sets = [sorted({columns.setdefault(word, len(columns)) for word in text.lower().split()}) for text in texts]
    ends = np.cumsum([0, *map(len, sets)])
    indices = np.fromiter((column for each in sets for column in each), np.int64, int(ends[-1]))
    return csr_array((np.ones(len(indices)), indices, ends), shape=(len(texts), max(1, len(columns))))
