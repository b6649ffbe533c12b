"""From contributions of token pairs to links between the words of two sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.explanation import LinkList
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
