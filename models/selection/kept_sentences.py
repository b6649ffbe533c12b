"""Sentences of several texts that together keep the score of a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from semblance.models.alignment.content_words import content_words
from semblance.models.alignment.token_matches import cosine_matrix, words_only
from semblance.models.embeddings import Doubles, Integers, TokenEmbeddings
from semblance.models.explanation import tokens_of
from semblance.models.text import Booleans, Ints
from semblance.models.tokenization.glossary import NO_GLOSSARY, Glossary
from semblance.models.tokenization.passages import Span, sentences

Rows: TypeAlias = NDArray[np.int64]

MAX_TRIES = 1000  # smaller budgets that are tried, from the largest on


@dataclass(frozen=True, slots=True, eq=False)
class SentenceMatches:
    """Matches of S sentences with the n tokens of a query.

    Attributes:
        documents: (S,) the number of the text of each sentence, ascending.
        spans: of the sentences in their texts, in code points; disjoint and in order.
        tokens: (S,) number of tokens, special ones not included.
        values: (S, n) the part of the score that each token of the query has by its nearest token in the sentence:
            w_i max(0, max_j C_ij) / sum w, with the cosines and masses of `rcmd1_content`.
        score: what all tokens of the texts keep together; of one text that is read whole, its score by
            `rcmd1_content` unless cosines are negative.
    """

    documents: Integers
    spans: Sequence[Span]
    tokens: Integers
    values: Doubles
    score: float

    @classmethod
    def of(
        cls,
        query: TokenEmbeddings,
        texts: Iterator[TokenEmbeddings] | Sequence[TokenEmbeddings],
        glossary: Glossary = NO_GLOSSARY,
    ) -> SentenceMatches:
        """Match a query with the sentences of texts, which may be read in passages.

        Cosines and masses obey the glossary; numbers of tokens are those of the whole sentences.

        Raises:
            ValueError: some have no text, or no token vectors.
        """
        words = content_words(glossary.read(query) if glossary else query)
        mass = words.weights.astype(np.float64)
        found = [_matched(words, text, glossary) for text in texts]
        spans = [span for own in found for span in own.spans]
        best = np.max([np.zeros(len(mass)), *(own.best for own in found)], axis=0)
        return cls(
            documents=np.repeat(np.arange(len(found)), [len(own.spans) for own in found]),
            spans=spans,
            tokens=np.concatenate([np.zeros(0, np.int64), *(own.tokens for own in found)]),
            values=np.concatenate([np.zeros((0, len(mass))), *(own.cosines for own in found)]) * (mass / mass.sum()),
            score=float(best @ (mass / mass.sum())),
        )


@dataclass(frozen=True, slots=True, eq=False)
class KeptSentences:
    """The sentences that are kept, and what each adds to the score.

    Law: the gains of all sentences sum to what all sentences keep together.

    Attributes:
        kept: (S,) whether each sentence is kept.
        gains: (S,) what it adds to those chosen before it; of dropped ones, if they were chosen after all kept ones.
    """

    kept: Booleans
    gains: Doubles


def keep_share(matches: SentenceMatches, share: float) -> KeptSentences:
    """Keep the fewest sentences, chosen greedily, that keep a share of the score.

    With the values v of the sentences, those of a set keep f(S) = sum_i max_{s in S} v_si of the score: facility
    location, which is submodular, so that the same is not kept twice. Each next sentence is that which adds most, the
    first of equals. It keeps at least 1 - 1/e of the best possible choice of as many sentences.

    Sentences that add nothing are not kept. Monotone: a larger share keeps the same sentences, and more.

    Source: nemhauser-etal-1978-submodular, section 4.

    Args:
        matches: of the sentences.
        share: of the score, above 0; all that carries some of it is kept for 1.

    >>> values = np.array([[0.3, 0.0], [0.3, 0.1], [0.0, 0.5]])
    >>> matches = SentenceMatches(np.zeros(3, int), [(0, 1), (2, 3), (4, 5)], np.ones(3, int), values, 0.8)
    >>> found = keep_share(matches, 0.6)
    >>> found.kept, found.gains  # the last one has 0.5 of 0.8; then the first one would add 0.3
    (array([False, False,  True]), array([0.3, 0. , 0.5]))
    """
    chosen = _Chosen.none(matches)
    while share >= 1 or chosen.score < share * matches.score:
        more = chosen.with_next(matches)
        if more is None:
            break
        chosen = more
    return _completed(matches, chosen)


def keep_tokens(matches: SentenceMatches, tokens: int) -> KeptSentences:
    """Keep sentences that have no more than `tokens` tokens together.

    Chosen as by `keep_share`, without those that do not fit. As a long sentence may so displace two that keep more, the
    same is done for smaller budgets, up to `MAX_TRIES`, and the best set is kept: a larger budget never keeps less.
    """
    stack = [_Chosen.none(matches)]
    best = stack[0]
    for _ in range(MAX_TRIES):
        while stack[-1].tokens > tokens:
            stack.pop()
        stack += stack[-1].filled(matches, tokens)
        best = max(best, stack[-1], key=lambda chosen: chosen.score)
        tokens = stack[-1].tokens - 1  # all budgets from here up to the last one choose the same
        if tokens < 0:
            break
    return _completed(matches, best)


@dataclass(frozen=True, slots=True, eq=False)
class _Chosen:
    """Sentences in the order of their choice.

    Attributes:
        left: (S,) those that are not chosen.
        covered: (n,) the part of each token of the query that they keep.
    """

    rows: tuple[int, ...]
    gains: tuple[float, ...]
    left: Booleans
    covered: Doubles
    tokens: int

    @classmethod
    def none(cls, matches: SentenceMatches) -> _Chosen:
        count, width = matches.values.shape
        return cls((), (), np.ones(count, np.bool_), np.zeros(width), 0)

    @property
    def score(self) -> float:
        """The part of the score that they keep."""
        return float(self.covered.sum())

    def with_next(self, matches: SentenceMatches, budget: int | None = None) -> _Chosen | None:
        """These with that which adds most and fits; None if none adds anything."""
        fits = self.left if budget is None else self.left & (matches.tokens <= budget - self.tokens)
        rows = np.flatnonzero(fits)
        gains = (matches.values[rows] - self.covered).clip(0).sum(axis=1)
        place = int(gains.argmax()) if len(rows) else -1
        if place < 0 or gains[place] <= 0:
            return None
        row = int(rows[place])
        left = self.left.copy()
        left[row] = False
        return _Chosen(
            rows=(*self.rows, row),
            gains=(*self.gains, float(gains[place])),
            left=left,
            covered=np.maximum(self.covered, matches.values[row]),
            tokens=self.tokens + int(matches.tokens[row]),
        )

    def filled(self, matches: SentenceMatches, budget: int) -> Iterator[_Chosen]:
        """These with one more, with two more, and so on."""
        chosen = self.with_next(matches, budget)
        while chosen is not None:
            yield chosen
            chosen = chosen.with_next(matches, budget)


def _completed(matches: SentenceMatches, chosen: _Chosen) -> KeptSentences:
    """The chosen sentences with all gains."""
    every, more = chosen, chosen.with_next(matches)
    while more is not None:
        every, more = more, more.with_next(matches)
    gains = np.zeros(len(matches.spans))
    gains[list(every.rows)] = every.gains
    kept = np.zeros(len(matches.spans), np.bool_)
    kept[list(chosen.rows)] = True
    return KeptSentences(kept, gains)


@dataclass(frozen=True, slots=True, eq=False)
class _Matched:
    """The sentences of one text: their cosines (S, n), and the largest of the text (n,)."""

    spans: Sequence[Span]
    tokens: Integers
    cosines: Doubles
    best: Doubles


def _matched(query: TokenEmbeddings, text: TokenEmbeddings, glossary: Glossary) -> _Matched:
    """Each token counts once, in the first passage that has it."""
    spans = sentences(tokens_of(text).text)
    counts, cosines, best = np.zeros(len(spans), np.int64), np.zeros((len(spans), len(query))), np.zeros(len(query))
    read = 0
    for passage in text.passages or (text,):
        own = _own_spans(passage)
        obeyed = glossary.read(passage) if glossary else passage
        matched = _own_spans(obeyed)
        fresh = matched[:, 0] >= read
        rows = _sentence_of(spans, own[own[:, 0] >= read])
        counts += np.bincount(rows[rows >= 0], minlength=len(spans))
        read = int(own[:, 1].max(initial=read))
        if not fresh.any():
            continue
        near = cosine_matrix(query, words_only(obeyed)).T[fresh]
        best = np.maximum(best, near.max(axis=0))
        rows = _sentence_of(spans, matched[fresh])
        np.maximum.at(cosines, rows[rows >= 0], near[rows >= 0])
    return _Matched(spans, counts, cosines, best)


def _own_spans(text: TokenEmbeddings) -> Ints:
    """The spans of the tokens that are not special."""
    tokens = tokens_of(text)
    return tokens.spans[~tokens.special]


def _sentence_of(spans: Sequence[Span], tokens: Ints) -> Rows:
    """The number of the sentence in which each token begins; -1 for none."""
    bounds = np.array(spans, np.int64).reshape(-1, 2)
    rows = np.searchsorted(bounds[:, 0], tokens[:, 0], side="right") - 1
    return np.where((rows >= 0) & (tokens[:, 0] < bounds[rows, 1]), rows, -1)
