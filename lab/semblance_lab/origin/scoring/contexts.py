"""Find candidate contexts of a sentence, and select a diverse set of the best ones."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Doubles, Floats, Integers
from semblance_lab.evaluation.contamination import normal_form
from semblance_lab.origin.errors import BadCorpus
from semblance_lab.origin.origin_settings import ContextSettings
from semblance_lab.origin.scoring.term_table import OriginComponents, TermTable

if TYPE_CHECKING:
    from scipy.sparse import csr_array

RANDOM_SEED = 0
OWN_CONTEXTS = 3  # contexts that contain a sentence of the corpus: its own, and those of its neighbours


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Candidate contexts of one sentence.

    Attributes:
        contexts: their numbers: those of screened chunks, best first by Eq. 1, then those around the nearest sentences,
            nearest first.
        screened: how many are of screened chunks.
        truncated: as in `ContextSet`.
    """

    contexts: Integers
    screened: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class SetSummary:
    """Size of a context set, and its flags as in `ContextSet`."""

    contexts: int
    fallback: bool
    topped_up: bool
    truncated: bool


@dataclass(frozen=True, slots=True, eq=False)
class ContextSet:
    """The contexts that one sentence is scored in.

    Attributes:
        contexts: (n,) their numbers, best first; topped-up ones come last.
        terms: (n, 4) the terms of Eq. 3 of the sentence in each.
        fallback: whether all are around the nearest sentences, because the text shares no bigram with the corpus.
        topped_up: whether the last ones are, because too few chunks share a bigram with the text.
        truncated: whether the text exceeds the models' token limit.
    """

    contexts: Integers
    terms: Doubles
    fallback: bool = False
    topped_up: bool = False
    truncated: bool = False

    def __len__(self) -> int:
        return len(self.contexts)

    @property
    def summary(self) -> SetSummary:
        """Its size and flags."""
        return SetSummary(len(self), self.fallback, self.topped_up, self.truncated)

    def first(self, n: int) -> ContextSet:
        """The best n, which are the set of that size."""
        return replace(self, contexts=self.contexts[:n], terms=self.terms[:n])


class CandidateSearch:
    """Finds the candidates of sentences.

    Contexts with the sentence itself in their middle or next to it are excluded, regardless of case, punctuation and
    white space: a sentence of the corpus would be scored in its own place, where no other sentence fits. The corpus has
    each sentence once.

    Methods raise BadCorpus: all contexts contain a text.
    """

    def __init__(
        self, components: OriginComponents, table: TermTable, settings: ContextSettings, max_tokens: int
    ) -> None:
        self._components = components
        self._table = table
        self._settings = settings
        self._max_tokens = max_tokens
        self._contexts = components.corpus.contexts()
        self._chunks = components.corpus.chunk[self._contexts]
        self._chunk_count = int(components.corpus.chunk.max(initial=-1)) + 1

    @property
    def limit(self) -> int:
        """Candidates of a sentence from screened chunks."""
        return self._settings.candidates * self._settings.size

    def rank(self, texts: Sequence[str]) -> Iterator[Candidates]:
        """The best of each text by Eq. 1 in screened chunks, topped up if these are too few.

        A set takes one context per chunk. The missing ones are taken around the nearest sentences, in other chunks.
        """
        best = [
            self._best(text, coherence, self._screened(text))
            for text, coherence in zip(texts, self._table.coherence(texts), strict=True)
        ]
        incomplete = [i for i, each in enumerate(best) if self._missing(each)]
        more: dict[int, Integers] = {}
        for start in range(0, len(incomplete), self._table.rows_per_batch):
            batch = incomplete[start : start + self._table.rows_per_batch]
            more |= zip(batch, self._nearest([texts[i] for i in batch], [best[i] for i in batch]), strict=True)
        for i, (text, truncated) in enumerate(zip(texts, self._truncated(texts), strict=True)):
            contexts = np.concatenate([best[i], more[i]]) if i in more else best[i]
            yield Candidates(_require_any(contexts, text), len(best[i]), truncated)

    def draw_random(self, texts: Sequence[str]) -> Iterator[Candidates]:
        """A random full set for each text from the whole corpus, always the same for the same text."""
        size = self._settings.size
        for text, truncated in zip(texts, self._truncated(texts), strict=True):
            random = np.random.default_rng([RANDOM_SEED, zlib.crc32(text.encode())])
            limit = min(len(self._contexts), size + OWN_CONTEXTS)
            contexts = self._without(text, random.choice(self._contexts, limit, replace=False))[:size]
            yield Candidates(_require_any(contexts, text), len(contexts), truncated)

    def _truncated(self, texts: Sequence[str]) -> list[bool]:
        encoded = self._components.vocabulary.encode(texts, self._max_tokens + 1)
        return [len(ids) > self._max_tokens for ids in encoded]

    def _screened(self, text: str) -> Integers:
        """Positions, among all contexts, of those in the best chunks by shared bigrams."""
        chunks, _ = self._components.screening.chunks(text, self._settings.chunks)
        selected = np.zeros(self._chunk_count, np.bool_)
        selected[chunks] = True
        return np.flatnonzero(selected[self._chunks])

    def _missing(self, contexts: Integers) -> int:
        """Number of missing candidates: `candidates` for each chunk that a set of these lacks."""
        settings = self._settings
        chunks = len(np.unique(self._components.corpus.chunk[contexts]))
        return settings.candidates * max(0, settings.size - chunks)

    def _nearest(self, texts: Sequence[str], best: Sequence[Integers]) -> list[Integers]:
        """Missing contexts of each text around the nearest sentences, one per other chunk."""
        ids = self._components.vocabulary.encode(texts, self._max_tokens)
        missing = [self._missing(each) for each in best]
        limit = 2 * self.limit + OWN_CONTEXTS
        while True:
            near = self._components.ranking.nearest(ids, limit)
            more = [self._in_other_chunks(*each) for each in zip(texts, near, best, strict=True)]
            if near.shape[1] < limit or all(len(some) >= n for some, n in zip(more, missing, strict=True)):
                return [some[:n] for some, n in zip(more, missing, strict=True)]
            limit *= 4

    def _in_other_chunks(self, text: str, sentences: Integers, best: Integers) -> Integers:
        """The contexts among these sentences, the first of each chunk that is not in `best`."""
        chunk = self._components.corpus.chunk
        free = np.isin(sentences, self._contexts) & ~np.isin(chunk[sentences], chunk[best])
        contexts = self._without(text, np.asarray(sentences[free], np.int64))
        _, first = np.unique(chunk[contexts], return_index=True)
        return contexts[np.sort(first)]

    def _best(self, text: str, coherence: Floats, places: Integers) -> Integers:
        """The best contexts at these positions by Eq. 1."""
        best = _highest(coherence[places], self.limit + OWN_CONTEXTS)
        return self._without(text, self._contexts[places[best]])[: self.limit]

    def _without(self, text: str, contexts: Integers) -> Integers:
        """The contexts that do not contain the text."""
        own, contained = normal_form(text), np.zeros(len(contexts), np.bool_)
        for step in (-1, 0, 1):
            sentences = self._components.corpus.texts(contexts + step)
            contained |= np.array([normal_form(sentence) == own for sentence in sentences], np.bool_)
        return contexts[~contained]


def _require_any(contexts: Integers, text: str) -> Integers:
    if len(contexts) == 0:
        raise BadCorpus(f"every context of the corpus contains {text!r} itself; use a larger corpus")
    return contexts


def _highest(values: NDArray[np.floating], limit: int) -> Integers:
    """Positions of the highest values, best first, ties in order."""
    places = np.arange(len(values))
    if len(values) > limit:
        places = np.flatnonzero(values >= np.partition(values, -limit)[-limit])
    return places[np.argsort(-values[places], kind="stable")][:limit]


def select_diverse(
    scores: Doubles, chunks: NDArray[np.integer], previous: Sequence[str], size: int, overlap: float
) -> Integers:
    """Greedily select at most `size` of k contexts that differ; returns positions, best first.

    In descending order of scores, a context is taken unless one that is already taken is in the same chunk, or has a
    too similar previous sentence: with W(x) the set of lower-cased words of x, separated by white space::

        |W(x) & W(y)| / |W(x) | W(y)| >= overlap        1 if neither has a word

    These are the words of the paper's example, unlike those of screening: punctuation stays, and a text without white
    space is one word. The selection of n is the beginning of any larger one. Ties keep the given order.

    Args:
        scores: (k,) by Eq. 3.
        chunks: (k,) the chunk of each context.
        previous: (k,) the sentence on the left of each.
        size: most contexts to take.
        overlap: 0.5 in the paper; at 1 or above previous sentences are ignored.

    >>> previous = ["the dog ran home", "it was a dark night", "the dog ran away", "stocks fell on monday"]
    >>> select_diverse(np.array([-1.0, -2.0, -3.0, -4.0]), np.array([1, 1, 2, 3]), previous, 3, 0.5)
    array([0, 3])

    Source: sun-etal-2022-origin, the choice of contexts.
    """
    order = np.argsort(-scores, kind="stable")
    words = _word_matrix([previous[i] for i in order])
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


def _word_matrix(texts: Sequence[str]) -> csr_array:
    """(texts, words) 1 if a text contains a word."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - slow to import, and --help does not need it

    columns: dict[str, int] = {}
    sets = [sorted({columns.setdefault(word, len(columns)) for word in text.lower().split()}) for text in texts]
    ends = np.cumsum([0, *map(len, sets)])
    indices = np.fromiter((column for each in sets for column in each), np.int64, int(ends[-1]))
    return csr_array((np.ones(len(indices)), indices, ends), shape=(len(texts), max(1, len(columns))))
