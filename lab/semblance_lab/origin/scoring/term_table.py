"""Cached terms of Eq. 3, and the interfaces of the components that compute them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from semblance.models.embeddings import Doubles, Floats, Integers
from semblance_lab.origin.scoring.scoring import TERMS, ContextPart

CACHED_TERMS = 1 << 22  # pairs of sentence and context: 160 MB
COHERENCE_CACHE_BYTES = 1 << 28  # Eq. 1 in all contexts of the corpus, of the latest sentences
PAIRS_PER_BATCH = 1 << 16  # pairs of sentence and context per call of the generative models

_PARTS: tuple[ContextPart, ...] = ("centre", "left", "right")  # the columns after coherence

Ids: TypeAlias = NDArray[np.int32]


class ContextCorpus(Protocol):
    """Sentences of the corpus by number, in the order of the documents."""

    @property
    def chunk(self) -> NDArray[np.int32]:
        """(sentences,) chunk of each."""

    def texts(self, numbers: Integers) -> list[str]:
        """Texts of the sentences with these numbers."""

    def contexts(self) -> Integers:
        """Numbers of the sentences with both neighbours in their run, ascending."""


class SentenceTokens(Protocol):
    """Tokens of the sentences of the corpus."""

    def rows(self, numbers: Integers) -> list[Ids]:
        """Tokens of the sentences with these numbers."""


class TextEncoder(Protocol):
    """Tokens of any text."""

    def encode(self, texts: Sequence[str], max_tokens: int) -> list[Ids]:
        """First tokens of each text, at least one, without special tokens."""


class ChunkSearch(Protocol):
    """Finds chunks that share bigrams with a sentence."""

    def chunks(self, sentence: str, limit: int) -> tuple[Integers, Doubles]:
        """The best chunks with their scores, best first; empty if nothing is shared."""


class ContextRanking(Protocol):
    """The coherence model (Eq. 1) over the whole corpus."""

    def log_probabilities(self, rows: Sequence[Ids]) -> Floats:
        """(sentences, contexts) log p(y=1 | s, l, r) of each sentence in every context, ascending."""

    def nearest(self, rows: Sequence[Ids], limit: int) -> Integers:
        """(sentences, limit) sentences of the corpus with the nearest vectors, best first."""


class Likelihoods(Protocol):
    """The generative models (Eq. 2)."""

    def log_likelihoods(
        self, part: ContextPart, left: Sequence[Ids], center: Sequence[Ids], right: Sequence[Ids]
    ) -> Floats:
        """(n,) log-likelihood per token of one part of each triple, given the two others."""


@dataclass(frozen=True, slots=True)
class OriginComponents:
    """Components of Origin, all built from one corpus."""

    corpus: ContextCorpus
    tokens: SentenceTokens
    vocabulary: TextEncoder
    screening: ChunkSearch
    ranking: ContextRanking
    generation: Likelihoods


@dataclass(frozen=True, slots=True, eq=False)
class _SentenceTerms:
    """Cached terms of one sentence: ascending numbers of contexts (n,), and terms (n, 4)."""

    contexts: Integers
    terms: Doubles

    def missing(self, contexts: Integers) -> Integers:
        return np.setdiff1d(contexts, self.contexts)

    def merge(self, more: _SentenceTerms) -> _SentenceTerms:
        contexts = np.concatenate([self.contexts, more.contexts])
        order = np.argsort(contexts)
        return _SentenceTerms(contexts[order], np.concatenate([self.terms, more.terms])[order])

    def at(self, contexts: Integers) -> Doubles:
        return self.terms[np.searchsorted(self.contexts, contexts)]


_NO_TERMS = _SentenceTerms(np.zeros(0, np.int64), np.zeros((0, len(TERMS))))


class TermTable:
    """Cached terms of sentences in contexts, computed in large batches of sentences.

    Args:
        components: corpus and models.
        max_tokens: that texts are truncated to.
        weights: of Eq. 3. Terms of Eq. 2 whose weight is 0 are not computed, but 0.

    Attributes:
        rows_per_batch: sentences that are compared with the whole corpus at once, limited by memory.
    """

    def __init__(self, components: OriginComponents, max_tokens: int, weights: Sequence[float]) -> None:
        self._components = components
        self._weights = dict(zip(TERMS, weights, strict=True))
        self._max_tokens = max_tokens
        self._contexts = components.corpus.contexts()
        self._cache: LRUCache[str, _SentenceTerms] = LRUCache(CACHED_TERMS, getsizeof=lambda each: len(each.contexts))
        row_bytes = 4 * len(self._contexts)
        self.rows_per_batch = max(1, COHERENCE_CACHE_BYTES // 4 // max(1, row_bytes))
        self._rows: LRUCache[str, Floats] = LRUCache(4 * self.rows_per_batch)

    def terms(self, texts: Sequence[str], contexts: Sequence[Integers]) -> list[Doubles]:
        """(n, 4) the terms of each text in its own n contexts, by number."""
        requested: dict[str, list[Integers]] = {}
        for text, numbers in zip(texts, contexts, strict=True):
            requested.setdefault(text, []).append(numbers)
        cached = {text: self._cache.get(text, _NO_TERMS) for text in requested}
        missing = {text: cached[text].missing(np.concatenate(each)) for text, each in requested.items()}
        for text, more in self._compute({text: each for text, each in missing.items() if len(each)}).items():
            cached[text] = cached[text].merge(more)
            if len(cached[text].contexts) <= CACHED_TERMS:
                self._cache[text] = cached[text]
        return [cached[text].at(numbers) for text, numbers in zip(texts, contexts, strict=True)]

    def coherence(self, texts: Sequence[str]) -> Iterator[Floats]:
        """(contexts of the corpus,) Eq. 1 of each text in all of them, text by text."""
        for start in range(0, len(texts), self.rows_per_batch):
            batch = texts[start : start + self.rows_per_batch]
            rows = {text: self._rows[text] for text in batch if text in self._rows}
            if new := list(dict.fromkeys(text for text in batch if text not in rows)):
                computed = self._components.ranking.log_probabilities(self._ids(new))
                rows |= {text: row.copy() for text, row in zip(new, computed, strict=True)}  # each is freed alone
                self._rows.update(rows)
            yield from (rows[text] for text in batch)

    def _compute(self, missing: Mapping[str, Integers]) -> dict[str, _SentenceTerms]:
        """Terms of each text in its own contexts, all different."""
        if not missing:
            return {}
        texts, ends = list(missing), np.cumsum([len(each) for each in missing.values()])
        contexts = np.concatenate(list(missing.values()))
        places = np.split(np.searchsorted(self._contexts, contexts), ends[:-1])
        terms = np.empty((len(contexts), len(TERMS)))
        terms[:, 0] = np.concatenate([row[own] for row, own in zip(self.coherence(texts), places, strict=True)])
        ids, owners = self._ids(texts), np.repeat(np.arange(len(texts)), np.diff(ends, prepend=0))
        for start in range(0, len(contexts), PAIRS_PER_BATCH):
            batch = slice(start, start + PAIRS_PER_BATCH)
            terms[batch, 1:] = self._generation_terms([ids[i] for i in owners[batch]], contexts[batch])
        return dict(zip(texts, map(_SentenceTerms, missing.values(), np.split(terms, ends[:-1])), strict=True))

    def _generation_terms(self, center: Sequence[Ids], contexts: Integers) -> Doubles:
        """(n, 3) the terms of Eq. 2 of n sentences, each in one context."""
        left, right = (self._components.tokens.rows(contexts + step) for step in (-1, 1))
        terms = np.zeros((len(contexts), len(_PARTS)))
        for column, part in enumerate(_PARTS):
            if self._weights[part] > 0:
                terms[:, column] = self._components.generation.log_likelihoods(part, left, center, right)
        return terms

    def _ids(self, texts: Sequence[str]) -> list[Ids]:
        return self._components.vocabulary.encode(texts, self._max_tokens)
