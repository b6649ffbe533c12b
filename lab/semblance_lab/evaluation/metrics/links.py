"""Links between words by the contributions of tokens, and their precision and recall."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.explanation import LinkList
from semblance.models.judgments.counts import by_row_blocks, ratio
from semblance.models.text import Booleans, Unit

Span: TypeAlias = tuple[int, int]


def contribution_matrix(explanation: LinkList) -> Doubles:
    """(n, m) contributions of token pairs."""
    contributions = np.zeros((len(explanation.left), len(explanation.right)))
    for link in explanation.links:
        contributions[link.left, link.right] = link.contribution
    return contributions


def spans_of(units: Sequence[Unit]) -> list[Span]:
    """First and one-past-last character of each unit."""
    return [(unit.start, unit.end) for unit in units]


def word_overlaps(spans: Sequence[Span], words: Sequence[str]) -> Booleans:
    """(words, tokens) whether a token shares a character with a word, joined by single spaces.

    Args:
        spans: first and one-past-last character of each token; empty spans overlap with no word.
        words: the words of the sentence.

    >>> word_overlaps([(0, 4), (4, 7), (8, 11)], ["playing", "now"]).astype(int)
    array([[1, 1, 0],
           [0, 0, 1]])
    """
    ends = np.cumsum([len(word) + 1 for word in words], dtype=np.int64)[:, None] - 1
    starts = ends - np.array([len(word) for word in words], np.int64).reshape(-1, 1)
    first, last = np.array(spans, np.int64).reshape(-1, 2).T
    overlaps: Booleans = (first < ends) & (last > starts) & (first < last)
    return overlaps


def pooled_contributions(contributions: Doubles, rows: Doubles, columns: Doubles) -> Doubles:
    """(groups left, groups right) mean contributions; -inf where a group has no token.

    Args:
        contributions: (n, m) of each pair of tokens.
        rows: (groups left, n) 1 where a token belongs to a group, such as a word or a chunk, else 0.
        columns: (groups right, m) the same for the right side.

    >>> pooled_contributions(np.array([[0.2, 0.0], [0.0, 0.1]]), np.array([[1.0, 1.0]]), np.eye(2))
    array([[0.1 , 0.05]])
    """
    sums = rows @ contributions @ columns.T
    sizes = np.outer(rows.sum(axis=1), columns.sum(axis=1))
    pooled: Doubles = np.divide(sums, sizes, out=np.full_like(sums, -np.inf), where=sizes > 0)
    return pooled


def mutual_best(pooled: Doubles) -> Booleans:
    """(n, m) whether a value is finite and the largest of its row and column; all exact ties.

    >>> mutual_best(np.array([[0.2, 0.1], [0.3, -np.inf]]))
    array([[False, False],
           [ True, False]])
    """
    if not pooled.size:
        return np.zeros(pooled.shape, np.bool_)
    best: Booleans = (pooled == pooled.max(axis=1, keepdims=True)) & (pooled == pooled.max(axis=0))
    return best & np.isfinite(pooled)


@dataclass(frozen=True, slots=True, eq=False)
class LinkCounts:
    """Numbers, or weights, of the links in n sentence pairs.

    Attributes:
        found: (n,) of all links of the measure.
        gold: (n,) of all links of the annotators.
        found_agreed: (n,) of the measure's links that the annotators have too.
        gold_agreed: (n,) of the annotators' links that the measure found; the same, unless links have weights.
    """

    found: Doubles
    gold: Doubles
    found_agreed: Doubles
    gold_agreed: Doubles

    @classmethod
    def of(cls, found: Sequence[AbstractSet[Hashable]], gold: Sequence[AbstractSet[Hashable]]) -> LinkCounts:
        """Count links, or unaligned words, by sentence pair."""
        agreed = np.array([len(one & other) for one, other in zip(found, gold, strict=True)], np.float64)
        found_links, gold_links = (np.array([*map(len, links)], np.float64) for links in (found, gold))
        return cls(found_links, gold_links, agreed, agreed)


def precision(links: LinkCounts, counts: Doubles | None = None) -> Doubles:
    """(b,) the share of the measure's links that are correct, by sample; 0 without links.

    `counts` (b, n) is the number of times each sentence pair is in each sample; None: once.
    """
    return by_row_blocks(lambda rows: ratio(rows @ links.found_agreed, rows @ links.found), counts, len(links.found))


def recall(links: LinkCounts, counts: Doubles | None = None) -> Doubles:
    """(b,) the share of the annotators' links that were found; arguments as in `precision`."""
    return by_row_blocks(lambda rows: ratio(rows @ links.gold_agreed, rows @ links.gold), counts, len(links.gold))


def f1(links: LinkCounts, counts: Doubles | None = None) -> Doubles:
    """(b,) the harmonic mean of precision and recall; arguments as in `precision`.

    >>> f1(LinkCounts.of([frozenset({(0, 0), (1, 2)})], [frozenset({(0, 0)})])).round(6)
    array([0.666667])
    """
    return _harmonic_mean(precision(links, counts), recall(links, counts))


def error_rate(links: LinkCounts, counts: Doubles | None = None) -> Doubles:
    """(b,) the share of all links, of measure and annotators, on which they disagree.

    The alignment error rate, if `found_agreed` counts sure and possible links, and `gold` sure ones. 0 without links;
    arguments as in `precision`.

    Source: och-ney-2003-alignment, section 6.

    >>> error_rate(LinkCounts.of([frozenset({(0, 0), (1, 2)})], [frozenset({(0, 0)})])).round(6)
    array([0.333333])
    """
    every = links.found + links.gold
    wrong = every - links.found_agreed - links.gold_agreed
    return by_row_blocks(lambda rows: ratio(rows @ wrong, rows @ every), counts, len(every))


def macro_precision(links: LinkCounts, counts: Doubles | None = None) -> Doubles:
    """(b,) the mean over sentence pairs of their precision; arguments as in `precision`."""
    return _mean(ratio(links.found_agreed, links.found), counts)


def macro_recall(links: LinkCounts, counts: Doubles | None = None) -> Doubles:
    """(b,) the mean over sentence pairs of their recall; arguments as in `precision`."""
    return _mean(ratio(links.gold_agreed, links.gold), counts)


def macro_f1(links: LinkCounts, counts: Doubles | None = None) -> Doubles:
    """(b,) the harmonic mean of both macro figures; arguments as in `precision`."""
    return _harmonic_mean(macro_precision(links, counts), macro_recall(links, counts))


def _harmonic_mean(p: Doubles, r: Doubles) -> Doubles:
    return ratio(2 * p * r, p + r)


def _mean(values: Doubles, counts: Doubles | None) -> Doubles:
    return by_row_blocks(lambda rows: ratio(rows @ values, rows.sum(axis=1)), counts, len(values))
