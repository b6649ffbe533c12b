"""The contexts that a sentence may be scored in: those of screened chunks, best by Eq. 1, and near ones."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Floats, Integers
from semblance.models.evaluation.contamination import normal_form
from semblance.models.origin.errors import BadCorpus
from semblance.models.origin.origin_settings import ContextSettings
from semblance.models.origin.scoring.parts import Parts
from semblance.models.origin.scoring.term_table import TermTable

RANDOM_SEED = 0
OWN_PLACES = 3  # contexts that hold a sentence of the corpus: its own, and those of its neighbours


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Contexts of one sentence.

    Attributes:
        contexts: their numbers: those of screened chunks, best first by Eq. 1, and then those around the nearest
            sentences, nearest first.
        screened: how many are of screened chunks.
        truncated: as in `ContextSet`.
    """

    contexts: Integers
    screened: int
    truncated: bool


class CandidateSearch:
    """Finds the candidates of sentences.

    A context is left out that has the sentence itself in its middle or next to it, whatever its case, punctuation and
    white space: a sentence of the corpus would be scored in its own place, where every other sentence is at a loss. The
    corpus has each sentence once.

    Methods raise BadCorpus: there is no context but those that hold a text.
    """

    def __init__(self, parts: Parts, table: TermTable, settings: ContextSettings, max_tokens: int) -> None:
        self._parts = parts
        self._table = table
        self._settings = settings
        self._max_tokens = max_tokens
        self._contexts = parts.corpus.contexts()
        self._chunks = parts.corpus.chunk[self._contexts]
        self._chunk_count = int(parts.corpus.chunk.max(initial=-1)) + 1

    @property
    def most(self) -> int:
        """Candidates of a sentence, of which a few more are found to top up."""
        return self._settings.candidates * self._settings.size

    def ranked(self, texts: Sequence[str]) -> Iterator[Candidates]:
        """The best of each text by Eq. 1 in screened chunks, topped up where they lie in fewer chunks than a set needs.

        A set takes one context of a chunk. Those that it lacks stand around the nearest sentences, in other chunks.
        """
        found = [
            self._best(text, coherence, self._screened(text))
            for text, coherence in zip(texts, self._table.coherence(texts), strict=True)
        ]
        lacking = [i for i, each in enumerate(found) if self._lacks(each)]
        more: dict[int, Integers] = {}
        for start in range(0, len(lacking), self._table.rows_at_once):
            some = lacking[start : start + self._table.rows_at_once]
            more |= zip(some, self._nearest([texts[i] for i in some], [found[i] for i in some]), strict=True)
        for i, (text, truncated) in enumerate(zip(texts, self._truncated(texts), strict=True)):
            contexts = np.concatenate([found[i], more[i]]) if i in more else found[i]
            yield Candidates(_some(contexts, text), len(found[i]), truncated)

    def drawn(self, texts: Sequence[str]) -> Iterator[Candidates]:
        """A full set of each text, drawn from the whole corpus: for every text another one, but always the same."""
        size = self._settings.size
        for text, truncated in zip(texts, self._truncated(texts), strict=True):
            random = np.random.default_rng([RANDOM_SEED, zlib.crc32(text.encode())])
            most = min(len(self._contexts), size + OWN_PLACES)
            found = self._without(text, random.choice(self._contexts, most, replace=False))[:size]
            yield Candidates(_some(found, text), len(found), truncated)

    def _truncated(self, texts: Sequence[str]) -> list[bool]:
        encoded = self._parts.vocabulary.encode(texts, self._max_tokens + 1)
        return [len(ids) > self._max_tokens for ids in encoded]

    def _screened(self, text: str) -> Integers:
        """Positions, among all contexts, of those in the chunks that are best by shared bigrams."""
        chunks, _ = self._parts.screening.chunks(text, self._settings.chunks)
        wanted = np.zeros(self._chunk_count, np.bool_)
        wanted[chunks] = True
        return np.flatnonzero(wanted[self._chunks])

    def _lacks(self, contexts: Integers) -> int:
        """How many more are to be found: `candidates` for each chunk that a set of them lacks."""
        settings = self._settings
        chunks = len(np.unique(self._parts.corpus.chunk[contexts]))
        return settings.candidates * max(0, settings.size - chunks)

    def _nearest(self, texts: Sequence[str], found: Sequence[Integers]) -> list[Integers]:
        """For each text the contexts around the nearest sentences that it lacks, one a chunk, none of a chunk found."""
        ids = self._parts.vocabulary.encode(texts, self._max_tokens)
        limit = 2 * self.most + OWN_PLACES
        while True:
            near = self._parts.ranking.nearest(ids, limit)
            more = [self._in_other_chunks(*each) for each in zip(texts, near, found, strict=True)]
            lacks = [self._lacks(each) for each in found]
            if near.shape[1] < limit or all(len(some) >= n for some, n in zip(more, lacks, strict=True)):
                return [some[:n] for some, n in zip(more, lacks, strict=True)]
            limit *= 4

    def _in_other_chunks(self, text: str, sentences: Integers, found: Integers) -> Integers:
        """Of these sentences those that are contexts, in their order, the first of each chunk."""
        chunk = self._parts.corpus.chunk
        free = np.isin(sentences, self._contexts) & ~np.isin(chunk[sentences], chunk[found])
        contexts = self._without(text, np.asarray(sentences[free], np.int64))
        _, first = np.unique(chunk[contexts], return_index=True)
        return contexts[np.sort(first)]

    def _best(self, text: str, coherence: Floats, places: Integers) -> Integers:
        """The contexts at these positions that are best by Eq. 1."""
        best = _highest(coherence[places], self.most + OWN_PLACES)
        return self._without(text, self._contexts[places[best]])[: self.most]

    def _without(self, text: str, contexts: Integers) -> Integers:
        """The contexts that do not hold the text."""
        own, holds = normal_form(text), np.zeros(len(contexts), np.bool_)
        for step in (-1, 0, 1):
            there = self._parts.corpus.texts(contexts + step)
            holds |= np.array([normal_form(each) == own for each in there], np.bool_)
        return contexts[~holds]


def _some(contexts: Integers, text: str) -> Integers:
    if len(contexts) == 0:
        raise BadCorpus(f"the corpus has no context but those that hold {text!r} itself")
    return contexts


def _highest(values: NDArray[np.floating], most: int) -> Integers:
    """The positions of the highest values, best first, equal ones in their order."""
    places = np.arange(len(values))
    if len(values) > most:
        places = np.flatnonzero(values >= np.partition(values, -most)[-most])
    return places[np.argsort(-values[places], kind="stable")][:most]
