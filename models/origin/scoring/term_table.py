"""The terms of Eq. 3, each computed once: of any sentence in any context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from cachetools import LRUCache

from semblance.models.embeddings import Doubles, Floats, Integers
from semblance.models.origin.context_parts import Part
from semblance.models.origin.scoring.parts import Ids, Parts
from semblance.models.origin.scoring.scoring import TERMS

REMEMBERED = 1 << 22  # pairs of sentence and context whose terms are kept: 160 MB
RANKED_BYTES = 1 << 28  # of Eq. 1 in all contexts of the corpus, of the sentences asked last
AT_ONCE = 1 << 16  # pairs of sentence and context in one call of the generative models

_PARTS: tuple[Part, ...] = ("centre", "left", "right")  # the columns after coherence


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What is known of one sentence: the numbers of contexts (n,), ascending, and its terms (n, 4) there."""

    contexts: Integers
    terms: Doubles

    def missing(self, contexts: Integers) -> Integers:
        return np.setdiff1d(contexts, self.contexts)

    def with_(self, more: _Known) -> _Known:
        contexts = np.concatenate([self.contexts, more.contexts])
        order = np.argsort(contexts)
        return _Known(contexts[order], np.concatenate([self.terms, more.terms])[order])

    def at(self, contexts: Integers) -> Doubles:
        return self.terms[np.searchsorted(self.contexts, contexts)]


_NOTHING = _Known(np.zeros(0, np.int64), np.zeros((0, len(TERMS))))


class TermTable:
    """Terms of sentences in contexts, computed in large batches over all sentences asked for, and remembered.

    Attributes:
        rows_at_once: sentences that are compared with the whole corpus at once, as memory allows.
    """

    def __init__(self, parts: Parts, max_tokens: int) -> None:
        self._parts = parts
        self._max_tokens = max_tokens
        self._contexts = parts.corpus.contexts()
        self._known: LRUCache[str, _Known] = LRUCache(REMEMBERED, getsizeof=lambda known: len(known.contexts))
        row_bytes = 4 * len(self._contexts)
        self.rows_at_once = max(1, RANKED_BYTES // 4 // max(1, row_bytes))
        self._rows: LRUCache[str, Floats] = LRUCache(4 * self.rows_at_once)

    def terms(self, texts: Sequence[str], contexts: Sequence[Integers]) -> list[Doubles]:
        """(n, 4) the terms of each text in its own n contexts, by number."""
        asked: dict[str, list[Integers]] = {}
        for text, some in zip(texts, contexts, strict=True):
            asked.setdefault(text, []).append(some)
        known = {text: self._known.get(text, _NOTHING) for text in asked}
        missing = {text: known[text].missing(np.concatenate(each)) for text, each in asked.items()}
        for text, more in self._computed({text: each for text, each in missing.items() if len(each)}).items():
            known[text] = known[text].with_(more)
            if len(known[text].contexts) <= REMEMBERED:
                self._known[text] = known[text]
        return [known[text].at(some) for text, some in zip(texts, contexts, strict=True)]

    def coherence(self, texts: Sequence[str]) -> Iterator[Floats]:
        """(contexts of the corpus,) Eq. 1 of each text in all of them, one text after the other."""
        for start in range(0, len(texts), self.rows_at_once):
            some = texts[start : start + self.rows_at_once]
            found = {text: self._rows[text] for text in some if text in self._rows}
            if new := list(dict.fromkeys(text for text in some if text not in found)):
                rows = self._parts.ranking.log_probabilities(self._ids(new))
                found |= {text: row.copy() for text, row in zip(new, rows, strict=True)}  # so that each is freed alone
                self._rows.update(found)
            yield from (found[text] for text in some)

    def _computed(self, missing: Mapping[str, Integers]) -> dict[str, _Known]:
        """The terms of each text in contexts of its own, all distinct."""
        if not missing:
            return {}
        texts, ends = list(missing), np.cumsum([len(each) for each in missing.values()])
        contexts = np.concatenate(list(missing.values()))
        places = np.split(np.searchsorted(self._contexts, contexts), ends[:-1])
        terms = np.empty((len(contexts), len(TERMS)))
        terms[:, 0] = np.concatenate([row[own] for row, own in zip(self.coherence(texts), places, strict=True)])
        ids, owners = self._ids(texts), np.repeat(np.arange(len(texts)), np.diff(ends, prepend=0))
        for start in range(0, len(contexts), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            terms[part, 1:] = self._generated([ids[i] for i in owners[part]], contexts[part])
        return dict(zip(texts, map(_Known, missing.values(), np.split(terms, ends[:-1])), strict=True))

    def _generated(self, centre: Sequence[Ids], contexts: Integers) -> Doubles:
        """(n, 3) the terms of Eq. 2 of n sentences, each in one context."""
        left, right = (self._parts.tokens.rows(contexts + step) for step in (-1, 1))
        found = [self._parts.generation.log_likelihoods(part, left, centre, right) for part in _PARTS]
        return np.stack(found, axis=1).astype(np.float64)

    def _ids(self, texts: Sequence[str]) -> list[Ids]:
        return self._parts.vocabulary.encode(texts, self._max_tokens)
