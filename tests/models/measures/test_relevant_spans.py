"""Relevant spans are disjoint runs of words that add up to the score with the rest."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.explanation import Explanation
from semblance.models.measures.relevant_spans import SpanOptions, relevant_spans
from tests.support.units import units_of

WORDS = ("🙂", "naïve", "x", "parcel", "a", "of", "数据库")


def explanation(parts: list[float], special: float = 0.0, query_words: int = 5) -> Explanation:
    """Of a query with a document whose words have these parts, separated by spaces."""
    query, document = "q " * query_words, " ".join(WORDS[i % len(WORDS)] for i in range(len(parts)))
    shares = np.array([0.75, 0.25, *[0.0] * (query_words - 2)])
    matrix = np.outer(shares, np.array(parts, np.float64))
    score = math.fsum([*parts, special])
    return Explanation(score, units_of(query), units_of(document), matrix, matrix, special, (query, document))


@given(
    st.lists(st.floats(-1, 1), max_size=30),
    st.floats(-1, 1),
    st.floats(-0.5, 0.5),
    st.none() | st.integers(1, 5),
)
def test_spans_and_the_rest_sum_to_the_score(
    parts: list[float], special: float, threshold: float, most: int | None
) -> None:
    whole = explanation(parts, special)
    found = relevant_spans(whole, SpanOptions(threshold, most))
    assert math.fsum([found.rest, *(span.score for span in found.spans)]) == pytest.approx(whole.score, abs=1e-9)
    assert len(found.spans) <= (len(parts) if most is None else most)
    assert [span.score for span in found.spans] == sorted((span.score for span in found.spans), reverse=True)
    ordered = sorted(found.spans, key=lambda span: span.start)
    assert all(one.end < other.start for one, other in pairwise(ordered))
    for span in found.spans:
        inside = [part for part, unit in zip(parts, whole.right, strict=True) if span.start <= unit.start < span.end]
        assert span.score >= threshold
        assert span.score == pytest.approx(math.fsum(inside), abs=1e-9)
        assert min(inside) > 0


def test_neighbouring_words_are_joined() -> None:
    found = relevant_spans(explanation([0, 0.1, 0.3, 0, 0.25, 0]), SpanOptions(0.1))
    assert [(span.start, span.end) for span in found.spans] == [(2, 9), (17, 18)]
    assert [round(span.score, 6) for span in found.spans] == [0.4, 0.25]
    text = explanation([0] * 6).texts[1]
    assert [text[span.start : span.end] for span in found.spans] == ["naïve x", "a"]


def test_spans_have_at_most_as_many_words_as_the_query() -> None:
    """Otherwise a measure that links all words would have the whole text as its span."""
    found = relevant_spans(explanation([0.3, 0.01, 0.02, 0.3], query_words=2), SpanOptions(0.0))
    assert [(span.start, round(span.score, 6)) for span in found.spans] == [(0, 0.3), (10, 0.3)]
    assert found.rest == pytest.approx(0.03)


def test_the_threshold_and_the_number_leave_the_rest() -> None:
    parts = [0.5, 0, 0.05, 0, 0.2]
    assert [round(span.score, 6) for span in relevant_spans(explanation(parts), SpanOptions(0.1)).spans] == [0.5, 0.2]
    best = relevant_spans(explanation(parts), SpanOptions(0.1, 1))
    assert ([round(span.score, 6) for span in best.spans], round(best.rest, 6)) == ([0.5], 0.25)
    assert relevant_spans(explanation([], 0.3), SpanOptions()).rest == 0.3
