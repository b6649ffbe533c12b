"""Precision and recall of links between words, from counts of sentence pairs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.judgments.counts import by_row_blocks, ratio


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
