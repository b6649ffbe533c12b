"""Laws of the sentences that are kept, over random texts and over random matches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from math import e
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.embeddings import TokenEmbeddings, join_passages
from semblance.models.measures.rcmd1_content import Rcmd1Content
from semblance.models.selection.kept_sentences import (
    KeptSentences,
    SentenceMatches,
    keep_share,
    keep_tokens,
)
from semblance.models.text import TokenizedText

WORDS = ("parcel", "lost", "the", "Größe", "𝄞clef", "東京", "is")
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(lambda words: " ".join(words) + ".")
TEXTS = st.lists(SENTENCES, min_size=1, max_size=5).map("  ".join)
SHARES = st.floats(0.01, 1)


def embedded(text: str, *, first: int = 0, last: int | None = None) -> TokenEmbeddings:
    """Tokens from `first` to `last`, and one special token; a word has the same vector everywhere."""
    found = list(re.finditer(r"\w+|[^\w\s]", text))[first:last]
    vectors = [np.random.default_rng(crc32(each[0].encode())).normal(size=4) for each in found]
    spans = np.array([(0, 0), *(each.span() for each in found)], np.int32)
    words = np.arange(-1, len(found), dtype=np.int32)
    tokens = TokenizedText(text, np.zeros(len(words), np.int32), spans, words, is_passage=bool(first))
    rows = np.array([np.ones(4), *vectors], np.float32)
    return TokenEmbeddings(rows, np.ones(len(rows), np.float32), tokens)


def in_passages(text: str, size: int) -> TokenEmbeddings:
    """The same, read in passages that overlap by a token."""
    count = len(re.findall(r"\w+|[^\w\s]", text))
    passages = [embedded(text, first=at, last=at + size + 1) for at in range(0, count, size)]
    return join_passages(passages) if len(passages) > 1 else embedded(text)


def matched(query: str, texts: Sequence[str]) -> SentenceMatches:
    return SentenceMatches.of(embedded(query), list(map(embedded, texts)))


@st.composite
def matches_of(draw: st.DrawFn) -> SentenceMatches:
    """Of few sentences, with values that are added without rounding."""
    count, width = draw(st.integers(0, 6)), draw(st.integers(1, 3))
    row = st.lists(st.integers(0, 8), min_size=width, max_size=width)
    values = np.array(draw(st.lists(row, min_size=count, max_size=count)), np.float64).reshape(count, width) / 8
    tokens = np.array(draw(st.lists(st.integers(0, 9), min_size=count, max_size=count)), np.int64)
    spans = [(10 * i, 10 * i + 9) for i in range(count)]
    score = float(values.max(axis=0, initial=0).sum())
    return SentenceMatches(np.zeros(count, np.int64), spans, tokens, values, score)


def score_of(matches: SentenceMatches, rows: Sequence[int]) -> float:
    return float(matches.values[list(rows)].max(axis=0, initial=0).sum())


def score_kept(matches: SentenceMatches, found: KeptSentences) -> float:
    return score_of(matches, np.flatnonzero(found.kept).tolist())


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_sentences_are_disjoint_in_order_and_have_all_words(query: str, texts: list[str]) -> None:
    matches = matched(query, texts)
    for number, text in enumerate(texts):
        spans = [matches.spans[row] for row in np.flatnonzero(matches.documents == number).tolist()]
        edges = [place for span in spans for place in span]
        assert edges == sorted(edges)
        assert all(text[start:end].strip() == text[start:end] != "" for start, end in spans)
        assert "".join(text[start:end] for start, end in spans).replace(" ", "") == text.replace(" ", "")
        counted = [len(re.findall(r"\w+|[^\w\s]", text[start:end])) for start, end in spans]
        assert matches.tokens[matches.documents == number].tolist() == counted


@given(TEXTS, TEXTS)
def test_all_sentences_keep_the_score_of_the_measure(query: str, text: str) -> None:
    matches = matched(query, [text])
    measured = Rcmd1Content().score(embedded(query), embedded(text))
    assert matches.score >= measured - 1e-6
    if (matches.values.max(axis=0) > 0).all():
        assert matches.score == pytest.approx(measured, abs=1e-6)
    assert score_of(matches, range(len(matches.spans))) == pytest.approx(matches.score, abs=1e-6)


@given(TEXTS, TEXTS, st.integers(1, 6))
def test_passages_change_neither_sentences_nor_counts(query: str, text: str, size: int) -> None:
    whole, read = matched(query, [text]), SentenceMatches.of(embedded(query), [in_passages(text, size)])
    assert read.spans == whole.spans
    assert read.tokens.tolist() == whole.tokens.tolist()
    assert read.values == pytest.approx(whole.values, abs=1e-6)


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), SHARES)
def test_a_duplicate_of_a_document_adds_nothing(query: str, texts: list[str], share: float) -> None:
    once, twice = (keep_share(matched(query, each), share) for each in (texts, texts + texts))
    count = len(once.kept)
    assert twice.kept.tolist() == [*once.kept.tolist(), *[False] * count]
    assert twice.gains.tolist() == [*once.gains.tolist(), *[0.0] * count]


@given(matches_of(), SHARES, st.integers(0, 60))
def test_gains_sum_to_the_score(matches: SentenceMatches, share: float, tokens: int) -> None:
    for found in (keep_share(matches, share), keep_tokens(matches, tokens)):
        assert found.gains.sum() == matches.score
        assert found.gains[found.kept].sum() == score_kept(matches, found)
        assert (found.gains >= 0).all()
        assert (found.gains[found.kept] > 0).all()


@given(matches_of(), SHARES)
def test_the_share_is_kept_and_its_last_sentence_needed(matches: SentenceMatches, share: float) -> None:
    found = keep_share(matches, share)
    assert score_kept(matches, found) >= share * matches.score
    if found.kept.any():
        assert score_kept(matches, found) - found.gains[found.kept].min() < share * matches.score


@given(matches_of())
def test_a_whole_share_drops_only_what_adds_nothing(matches: SentenceMatches) -> None:
    found = keep_share(matches, 1.0)
    assert score_kept(matches, found) == matches.score
    assert (found.gains[~found.kept] == 0).all()


@given(matches_of(), SHARES, SHARES)
def test_a_larger_share_keeps_the_same_and_more(matches: SentenceMatches, one: float, other: float) -> None:
    less, more = (keep_share(matches, share).kept for share in sorted([one, other]))
    assert (more | ~less).all()


@given(matches_of(), st.integers(0, 60))
def test_a_budget_is_never_exceeded_and_filled(matches: SentenceMatches, tokens: int) -> None:
    found = keep_tokens(matches, tokens)
    used = int(matches.tokens[found.kept].sum())
    assert used <= tokens
    left = np.flatnonzero(~found.kept & (matches.tokens <= tokens - used))
    kept = np.flatnonzero(found.kept).tolist()
    assert all(score_of(matches, [*kept, row]) == score_of(matches, kept) for row in left.tolist())


@given(matches_of(), st.integers(0, 60), st.integers(0, 60))
def test_a_larger_budget_never_keeps_less(matches: SentenceMatches, one: int, other: int) -> None:
    less, more = (score_kept(matches, keep_tokens(matches, tokens)) for tokens in sorted([one, other]))
    assert less <= more


@given(matches_of(), st.integers(1, 6))
def test_the_chosen_keep_what_the_bound_promises(matches: SentenceMatches, count: int) -> None:
    """Against all sets of as many sentences: nemhauser-etal-1978-submodular."""
    order = np.argsort(-keep_share(matches, 1.0).gains, kind="stable").tolist()[:count]
    rows = range(len(matches.spans))
    best = max((score_of(matches, each) for each in combinations(rows, min(count, len(rows)))), default=0.0)
    assert score_of(matches, order) >= (1 - 1 / e) * best - 1e-12
