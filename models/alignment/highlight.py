"""The part of a text that alone would keep most of its score, and its strongest words."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Doubles
from semblance.models.explanation import Explanation
from semblance.models.tokenization.folding import fold
from semblance.models.tokenization.function_words import say_much
from semblance.models.tokenization.passages import Span, sentences
from semblance.models.tokenization.terms import document_terms, query_terms

Flags: TypeAlias = NDArray[np.bool_]

MARKED_SHARE = 0.8  # of what the snippet adds to the score; fewer words are marked if they make it
QUERY_WORDS = 3  # named for each mark


@dataclass(frozen=True, slots=True)
class HighlightOptions:
    """Most characters of a snippet, and most marks in it."""

    chars: int = 240
    marks: int = 5


@dataclass(frozen=True, slots=True)
class Mark:
    """Words of a text, their part of the score, and the words of the query that they match."""

    start: int
    end: int
    contribution: float
    query: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Highlight:
    """A snippet of a text with its marks, in code points.

    Law: the contributions of the marks, `rest` and `special` sum to `score`.

    Attributes:
        start, end: of the snippet.
        marks: in reading order.
        rest: what all other words add to the score.
        special: what tokens add that the model adds to the texts.
        score: of the text for the query.
    """

    start: int
    end: int
    marks: tuple[Mark, ...]
    rest: float
    special: float
    score: float


def highlight(explanation: Explanation, options: HighlightOptions) -> Highlight:
    """Find the snippet of the right text that keeps most of the score, and mark its words.

    A word of the left text keeps its part in the ratio of its largest similarity in the snippet to that in the whole
    text. So a sentence is chosen that has near words for all of a question, even where each is nearer elsewhere.

    The snippet has whole sentences or, if the best sentence is longer, whole words of it. Function words and
    punctuation are not marked, nor are codes and numbers that the left text lacks.

    Args:
        explanation: by words, of a score that is a sum over the words of the left text.
        options: sizes.
    """
    spans = [(start, end) for start, end in explanation.right.spans.tolist()]
    parts = explanation.contribution.sum(axis=0)
    first, last = _window(spans, _kept(explanation), sentences(explanation.texts[1]), options.chars)
    content = np.array(say_much(explanation.right.texts), bool) & _numbers_agree(explanation, spans)
    marks = tuple(_marks(explanation, np.where(content, parts, 0.0)[first:last], first, options.marks))
    return Highlight(
        start=spans[first][0] if spans else 0,
        end=spans[last - 1][1] if spans else 0,
        marks=marks,
        rest=explanation.score - explanation.special - sum(mark.contribution for mark in marks),
        special=explanation.special,
        score=explanation.score,
    )


def _numbers_agree(explanation: Explanation, words: Sequence[Span]) -> Flags:
    """Whether each word of the right text is in no code or number that the left text lacks."""
    if not any(map(str.isdigit, fold(explanation.texts[1]))):
        return np.ones(len(words), np.bool_)
    query = {term.text: term for term in query_terms(explanation.texts[0])}
    numbers = [term for term in document_terms(explanation.texts[1]) if any(map(str.isdigit, term.text))]

    def agrees(start: int, end: int) -> bool:
        own = [term for term in numbers if term.start < end and start < term.end]
        return not own or any(term.text in query and query[term.text].finds(term) for term in own)

    return np.array([agrees(*word) for word in words], np.bool_)


def _kept(explanation: Explanation) -> Doubles:
    """(n, m) part of the score that each left word would keep with this right word alone."""
    largest = explanation.similarity.max(axis=1, keepdims=True, initial=np.finfo(np.float64).tiny)
    own = explanation.contribution.sum(axis=1, keepdims=True).clip(0)
    kept: Doubles = explanation.similarity / largest * own
    return kept


def _window(words: Sequence[Span], kept: Doubles, spans: Sequence[Span], chars: int) -> tuple[int, int]:
    """First and one-past-last word of the window of `chars` that keeps most.

    Of equals, the shortest, and then the first.
    """

    def worth(window: tuple[int, int]) -> tuple[float, int, int]:
        first, last = window
        return float(kept[:, first:last].max(axis=1).sum()), first - last, -first

    starts = [start for start, _ in words]
    firsts = [0, *(bisect_left(starts, start) for start, _ in spans[1:])]
    ranges = [each for each in zip(firsts, [*firsts[1:], len(words)], strict=True) if each[0] < each[1]]
    windows = [window for at in range(len(ranges)) for window in _windows(words, ranges[at:], chars)]
    return max(windows, key=worth, default=(0, 0))


def _windows(words: Sequence[Span], sentences: Sequence[tuple[int, int]], chars: int) -> Iterator[tuple[int, int]]:
    """Windows from the first sentence on: of sentences or, if it is too long, of its words."""
    first, end = sentences[0]
    if words[end - 1][1] - words[first][0] <= chars:
        for _, last in sentences:
            if words[last - 1][1] - words[first][0] > chars:
                break
            yield first, last
        return
    last = first
    for start in range(first, end):
        last = max(last, start + 1)
        while last < end and words[last][1] - words[start][0] <= chars:
            last += 1
        yield start, last


def _marks(explanation: Explanation, parts: Doubles, first: int, most: int) -> Iterator[Mark]:
    """The strongest words of the window that begins with word `first`, neighbors joined.

    Words whose part is not above 0 are left out.
    """
    enough, sum_of_chosen = MARKED_SHARE * float(parts.sum()), 0.0
    chosen: list[int] = []
    for i in np.argsort(-parts, kind="stable")[:most].tolist():
        if parts[i] <= 0 or sum_of_chosen >= enough:
            break
        chosen.append(first + i)
        sum_of_chosen += float(parts[i])
    for run in _runs(sorted(chosen)):
        own = explanation.contribution[:, run].sum(axis=1).tolist()
        best = sorted((i for i, part in enumerate(own) if part > 0), key=lambda i: (-own[i], i))
        query = tuple(dict.fromkeys(explanation.left[i].text for i in best))[:QUERY_WORDS]
        words = explanation.right[run[0]], explanation.right[run[-1]]
        yield Mark(words[0].start, words[1].end, sum(own), query)


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Runs of successive numbers."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs
