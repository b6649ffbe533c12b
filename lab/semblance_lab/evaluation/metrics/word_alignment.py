"""Metrics of word alignment: agreement of explanation links with aligned words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.explanation import LinkList
from semblance.models.judgments.counts import Metric
from semblance_lab.evaluation.metrics.links import (
    LinkCounts,
    contribution_matrix,
    error_rate,
    f1,
    macro_f1,
    macro_precision,
    macro_recall,
    mutual_best,
    pooled_contributions,
    precision,
    recall,
    spans_of,
    word_overlaps,
)
from semblance_lab.evaluation.results import TaskMetrics
from semblance_lab.evaluation.scorer import Scorer
from semblance_lab.evaluation.tasks import WordAlignedPair, WordAlignment

WordLinks: TypeAlias = frozenset[tuple[int, int]]


def word_alignment_metrics(task: WordAlignment, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, TaskMetrics]:
    """F1 of word links, for measures that explain their score, against sure links.

    Each measure's contributions of token pairs are averaged over word pairs; words that are each other's best match are
    linked, if their value is positive. Measures without a positive contribution, such as distances, are left out. With
    G the sure links of the annotators and S those of the measure::

        alignment_f1         2 |S & G| / (|S| + |G|), over all sentence pairs at once
        alignment_precision  |S & G| / |S|
        alignment_recall     |S & G| / |G|
        possible_f1          as alignment_f1, with the possible links in G too
        alignment_error_rate 1 - (|S & G| + |S & P|) / (|S| + |G|), with P the sure and possible links; where the file
                             has possible ones
        unaligned_f1         as alignment_f1, of the words without a link instead of the links
        macro_precision      mean over sentence pairs of |S0 & G0| / |S0|
        macro_recall         mean over sentence pairs of |S0 & G0| / |G0|
        macro_f1             their harmonic mean

    S0 and G0 have all links of S and G, and a link to null for each word without one. These three are the protocol of
    arase-etal-2023-otalign: the words are compared in lower case. Departs from it in encoding the two sentences of a
    pair separately, since a measure receives each text's own vectors; the paper's encoder reads both at once.
    """
    as_written, lowered = (_system_links(task, scorer, measures, lower) for lower in (False, True))
    both = [name for name in as_written if name in lowered]
    return {name: _task_metrics(task.pairs, as_written[name], lowered[name]) for name in both}


def word_links(explanation: LinkList, left: Sequence[str], right: Sequence[str]) -> WordLinks:
    """Link words that are each other's best match by the contributions of their tokens.

    The value of two words is the mean over their tokens; only positive ones are linked. A token belongs to a word if
    they share a character. All exact ties are linked. Words without a token stay unaligned.

    Args:
        explanation: of the words joined by single spaces, by tokens.
        left: the words of the left sentence.
        right: those of the right sentence.
    """
    rows, columns = (
        word_overlaps(spans_of(units), words).astype(np.float64)
        for units, words in ((explanation.left, left), (explanation.right, right))
    )
    pooled = pooled_contributions(contribution_matrix(explanation), rows, columns)
    return frozenset((i, j) for i, j in np.argwhere(mutual_best(pooled) & (pooled > 0)).tolist())


def null_links(links: WordLinks, left: int, right: int) -> WordLinks:
    """Links to null of words without a link: (i, -1) on the left side, (-1, j) on the right.

    Args:
        links: between the words.
        left: number of words of the left sentence.
        right: number of words of the right sentence.
    """
    unaligned_left = set(range(left)) - {i for i, _ in links}
    unaligned_right = set(range(right)) - {j for _, j in links}
    return frozenset({(i, -1) for i in unaligned_left} | {(-1, j) for j in unaligned_right})


def _system_links(
    task: WordAlignment, scorer: Scorer, measures: Sequence[str], lower: bool
) -> dict[str, list[WordLinks]]:
    """Measure -> its links of each pair, for measures with a positive contribution."""
    left, right = ([_lowered(words) if lower else words for words in side] for side in _sides(task))
    texts_left, texts_right = ([" ".join(words) for words in side] for side in (left, right))
    explained = scorer.links(measures, texts_left, texts_right, "token")
    links: defaultdict[str, list[WordLinks]] = defaultdict(list)
    positive: set[str] = set()
    for words_left, words_right, explanations in zip(left, right, explained, strict=True):
        for name, explanation in explanations.items():
            if any(link.contribution > 0 for link in explanation.links):
                positive.add(name)
            links[name].append(word_links(explanation, words_left, words_right))
    return {name: each for name, each in links.items() if name in positive}


def _sides(task: WordAlignment) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    return [pair.left for pair in task.pairs], [pair.right for pair in task.pairs]


def _lowered(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.lower() for word in words)


def _task_metrics(
    pairs: Sequence[WordAlignedPair], as_written: Sequence[WordLinks], lowered: Sequence[WordLinks]
) -> TaskMetrics:
    sure, possible = [pair.sure for pair in pairs], [pair.sure | pair.possible for pair in pairs]
    links, unaligned = LinkCounts.of(as_written, sure), LinkCounts.of(_nulls(pairs, as_written), _nulls(pairs, sure))
    with_nulls = LinkCounts.of(_with_nulls(pairs, lowered), _with_nulls(pairs, sure))
    of_possible = LinkCounts.of(as_written, possible)
    figures: dict[str, tuple[Callable[..., Doubles], LinkCounts]] = {
        "alignment_f1": (f1, links),
        "alignment_precision": (precision, links),
        "alignment_recall": (recall, links),
        "possible_f1": (f1, of_possible),
        "unaligned_f1": (f1, unaligned),
        "macro_f1": (macro_f1, with_nulls),
        "macro_precision": (macro_precision, with_nulls),
        "macro_recall": (macro_recall, with_nulls),
    }
    if sure != possible:
        both = replace(links, found_agreed=of_possible.found_agreed)
        figures["alignment_error_rate"] = (error_rate, both)
    n = len(pairs)
    return TaskMetrics("word alignment", n, tuple(Metric.of(name, n, *figure) for name, figure in figures.items()))


def _nulls(pairs: Sequence[WordAlignedPair], links: Sequence[WordLinks]) -> list[WordLinks]:
    return [null_links(link, len(pair.left), len(pair.right)) for pair, link in zip(pairs, links, strict=True)]


def _with_nulls(pairs: Sequence[WordAlignedPair], links: Sequence[WordLinks]) -> list[WordLinks]:
    return [link | nulls for link, nulls in zip(links, _nulls(pairs, links), strict=True)]
