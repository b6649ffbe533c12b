"""Relevant spans and highlights: disjoint runs of words that add up to the score with the rest, the best of all."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semblance.models.alignment.highlight import HighlightOptions, highlight
from semblance.models.alignment.relevant_spans import SpanOptions, relevant_spans
from semblance.models.catalogue import explainable
from semblance.models.encoders.transformer import Transformer
from semblance.models.explanation import Explanation
from semblance.models.tokenization.function_words import say_much
from semblance.models.tokenization.passages import sentences
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


SENTENCES = [
    "The parcel never came.",
    "Our shop opens at nine o'clock in the morning on working days.",
    "A refund takes five days, and is paid to the card that you used.",
    "🙂 Schöne Grüße!",
    "荷物はどこですか。",
    "word " * 70 + "end.",
]
TEXTS = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=6).map(" ".join)
QUERIES = st.sampled_from(["Where is my parcel?", "refund", "When do you open?", "荷物", "🙂"])


def explanation_of(encoder: Transformer, query: str, text: str) -> Explanation:
    [a], [b] = (encoder.encode(encoder.tokenize([each], "query", "END"), "tokens") for each in (query, text))
    return explainable("rcmd1_content").explain(a, b).by_word()


@settings(max_examples=20)  # each is encoded
@given(query=QUERIES, text=TEXTS, chars=st.sampled_from([30, 80, 240]), marks=st.integers(1, 8))
def test_marks_sum_to_the_score_and_snippets_are_best(
    minilm: Transformer, query: str, text: str, chars: int, marks: int
) -> None:
    """Of all runs of sentences that fit and, of a sentence that does not, all runs of words."""
    why = explanation_of(minilm, query, text)
    found = highlight(why, HighlightOptions(chars, marks))
    of_marks = sum(mark.contribution for mark in found.marks)
    assert of_marks + found.rest + found.special == pytest.approx(found.score, abs=1e-12)
    assert found.score == why.score
    assert all(found.start <= mark.start < mark.end <= found.end for mark in found.marks)
    words = {(unit.start, unit.end) for unit in why.right}
    starts, ends = {start for start, _ in words}, {end for _, end in words}
    assert {found.start, *(mark.start for mark in found.marks)} <= starts
    assert {found.end, *(mark.end for mark in found.marks)} <= ends
    for mark in found.marks:
        own = [j for j, unit in enumerate(why.right) if mark.start <= unit.start and unit.end <= mark.end]
        assert mark.contribution == pytest.approx(why.contribution[:, own].sum(), abs=1e-12)
        assert mark.contribution > 0
        assert mark.query[0] in {unit.text for unit in why.left}
    content = say_much([unit.text for unit in why.right])
    assert all(
        says
        for says, unit in zip(content, why.right, strict=True)
        if any(m.start <= unit.start < m.end for m in found.marks)
    )
    if found.end - found.start > chars:
        assert sum(found.start <= start < found.end for start, _ in words) == 1, "only a single word may be longer"
    parts = [max(0.0, float(row.sum())) for row in why.contribution]

    def total(start: int, end: int) -> float:
        inside = [j for j, unit in enumerate(why.right) if start <= unit.start and unit.end <= end]
        rows = zip(parts, why.similarity.tolist(), strict=True)
        if not inside:  # the text is longer than the model reads
            return 0.0
        return math.fsum(part * max(row[j] for j in inside) / max(row) for part, row in rows if part)

    spans = sentences(text)
    fitting = [(a, b) for i, (a, _) in enumerate(spans) for _, b in spans[i:] if b - a <= chars]
    best = max((total(a, b) for a, b in fitting), default=0.0)
    assert total(found.start, found.end) >= best - 1e-9
    if all(b - a <= chars for a, b in spans):
        assert total(found.start, found.end) == pytest.approx(best, abs=1e-9)


def test_the_best_sentence_is_shown_and_its_words_marked(minilm: Transformer) -> None:
    text = " ".join([SENTENCES[1], SENTENCES[2], SENTENCES[1], SENTENCES[0], SENTENCES[1], SENTENCES[1]])
    found = highlight(explanation_of(minilm, "my parcel is missing", text), HighlightOptions(80, 3))
    assert text[found.start : found.end].startswith("The parcel never came")
    assert "parcel" in " ".join(text[mark.start : mark.end] for mark in found.marks)
    assert any("parcel" in mark.query for mark in found.marks)


def test_a_text_without_words_has_an_empty_snippet() -> None:
    empty = Explanation(0.25, units_of(""), units_of(""), np.zeros((0, 0)), np.zeros((0, 0)), 0.25, ("a", "b"))
    found = highlight(empty, HighlightOptions())
    assert (found.start, found.end, found.marks, found.rest, found.special) == (0, 0, (), 0.0, 0.25)


@pytest.mark.parametrize(
    ("query", "text", "unmarked"),
    [
        ("error E-117", "It shows error E-113 again.", {"E", "-", "113"}),
        ("error E-117 of 4711", "It shows error E-117, as part 4711 does.", set()),
        ("part 4711", "The part E-4711 is here.", {"E"}),
        ("in 1998", "It was in 1997 and 2,500 days.", {"1997", "2,500"}),
        ("half a cup", "Take ½ cup.", {"½"}),
    ],
)
def test_codes_and_numbers_that_differ_are_not_marked(
    minilm: Transformer, query: str, text: str, unmarked: set[str]
) -> None:
    found = highlight(explanation_of(minilm, query, text), HighlightOptions(marks=50))
    marked = {word for mark in found.marks for word in text[mark.start : mark.end].split()}
    assert not marked & unmarked
    assert not any(word in mark for word in unmarked for mark in marked if word != "-")
