"""Spans of a document that make its score, from the links between its words and a query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semblance.models.explanation import Explanation


@dataclass(frozen=True, slots=True)
class SpanOptions:
    """Which spans to return.

    Attributes:
        threshold: least part of the score that a span has.
        max_spans: most spans; None for all.
    """

    threshold: float = 0.1
    max_spans: int | None = None


@dataclass(frozen=True, slots=True)
class RelevantSpan:
    """A part of a document, in Unicode code points, and its part of the score."""

    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class RelevantSpans:
    """Spans of a document, best first, and the rest of its score.

    Law: the scores of the spans and the rest sum to the score of the document.
    """

    spans: tuple[RelevantSpan, ...]
    rest: float


def relevant_spans(explanation: Explanation, options: SpanOptions) -> RelevantSpans:
    """Join the words of the right text that contribute most into spans.

    Selected are the n words with the largest contributions, where n is the number of words of the left text; a span is
    a longest run of selected words.

    Args:
        explanation: by words.
        options: which spans are returned; the parts of others count for the rest.
    """
    parts = explanation.contribution.sum(axis=0)
    if len(parts) == 0:
        return RelevantSpans((), explanation.score)
    best = np.argsort(-parts, kind="stable")[: len(explanation.left)]
    chosen = np.zeros(len(parts), np.bool_)
    chosen[best[parts[best] > 0]] = True
    edges = np.flatnonzero(np.diff(chosen, prepend=False, append=False))
    spans = [
        RelevantSpan(explanation.right[first].start, explanation.right[last - 1].end, float(parts[first:last].sum()))
        for first, last in edges.reshape(-1, 2).tolist()
    ]
    spans.sort(key=lambda span: (-span.score, span.start))
    kept = tuple(span for span in spans if span.score >= options.threshold)[: options.max_spans]
    return RelevantSpans(kept, explanation.score - sum(span.score for span in kept))
