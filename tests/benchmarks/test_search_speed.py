"""The times of hybrid searches, of highlights and of kept sentences, at a small scale."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from benchmarks.speed import highlights, hybrid
from semblance.models.embeddings import unit_rows
from tests.support.servers.word_models import WORDS

DIM = 384  # of the built-in model


def texts(words: int, seed: int, number: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, words)) + f" {i}." for i in range(number)]


@pytest.mark.nightly
def test_both_modes_are_timed_on_the_index_and_the_service() -> None:
    stored, asked = texts(20, 1, 60), texts(4, 2, 6)
    near = unit_rows(np.random.default_rng(3).normal(size=(66, DIM))).astype(np.float32)
    rows = hybrid.measure(stored, near[:60], dict.fromkeys(hybrid.KINDS, asked), near[60:], rounds=1)
    cases = [(row.searched, row.queries, row.mode) for row in rows]
    assert cases == [
        (each, kind, mode) for each in ("index", "request") for kind in hybrid.KINDS for mode in hybrid.MODES
    ]
    for base, added in zip(rows[::2], rows[1::2], strict=True):
        assert (base.added_p50_ms, base.added_p99_ms, base.added_core_ms) == (0, 0, 0)
        assert added.added_p50_ms == added.p50_ms - base.p50_ms
        assert 0 < added.p50_ms <= added.p99_ms


def test_queries_have_the_words_of_their_kind() -> None:
    stored, others = texts(30, 1, 200), texts(20, 2, 150)
    keywords, long = hybrid.queries(stored, others).values()
    assert {len(query.split()) for query in keywords} == {hybrid.KEYWORDS}
    assert {len(query.split()) for query in long} == {hybrid.WORDS}
    assert len(keywords) == len(long) == hybrid.QUERIES
    assert all(any(set(query.split()) <= set(text.split()) for text in stored) for query in keywords)


def test_systems_take_turns_and_the_first_round_does_not_count() -> None:
    calls: list[tuple[str, int]] = []
    clock = count()

    def system(name: str) -> hybrid.System:
        return hybrid.System(lambda i: calls.append((name, i)), lambda: float(next(clock)))

    times = hybrid.alternated({"a": system("a"), "b": system("b")}, 2, rounds=2)
    assert calls == [(name, i) for name in "abbaab" for i in range(2)]
    assert [(len(each.seconds), each.cpu_s) for each in times.values()] == [(4, 2.0), (4, 2.0)]


@pytest.mark.nightly
def test_highlights_are_timed_for_each_length_with_codes_and_without() -> None:
    rows = list(highlights.measure(iter(texts(20, 1, 400)), 11, rounds=1))
    cases = [(row.words, row.tokens, row.field) for row in rows]
    lengths = [(words, tokens) for words in highlights.WORDS for tokens in highlights.TOKENS]
    assert cases == [(*each, field) for each in lengths for field in ("highlight", "keep")]
    assert all(0 < row.p50_ms <= row.p99_ms for row in rows)
