"""Metrics of interpretable STS: agreement of explanation links with aligned chunks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.judgments.counts import Metric
from semblance_lab.evaluation.metrics.links import (
    LinkCounts,
    Span,
    contribution_matrix,
    f1,
    mutual_best,
    pooled_contributions,
    precision,
    recall,
    spans_of,
    word_overlaps,
)
from semblance_lab.evaluation.results import TaskMetrics
from semblance_lab.evaluation.scorer import Scorer
from semblance_lab.evaluation.tasks import ChunkAlignment, ChunkedPair, ChunkLink

Agreement: TypeAlias = Literal["alignment", "type", "score", "type_score"]
AGREEMENTS: tuple[Agreement, ...] = ("alignment", "type", "score", "type_score")

_PUNCTUATION = frozenset(".,:'`?;\"-")
_HIGHEST = 5.0  # scores go from 0 to 5


def chunk_alignment_metrics(task: ChunkAlignment, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, TaskMetrics]:
    """Alignment F1 of chunks by the protocol of CLRCMD, for measures that explain their score.

    Each measure's contributions of token pairs are averaged over chunk pairs; chunks that are each other's best match
    are aligned. Of the gold alignment, only aligned chunks with a score of 3 or more count. Measures without a positive
    contribution, such as distances, are left out: their best link would be one that contributes nothing.
    """
    left = [" ".join(pair.left) for pair in task.pairs]
    right = [" ".join(pair.right) for pair in task.pairs]
    gold = [strong_links(pair.gold) for pair in task.pairs]
    system: defaultdict[str, list[list[ChunkLink]]] = defaultdict(list)
    positive: defaultdict[str, bool] = defaultdict(bool)
    for pair, explanations in zip(task.pairs, scorer.links(measures, left, right, "token"), strict=True):
        for name, explanation in explanations.items():
            positive[name] |= any(link.contribution > 0 for link in explanation.links)
            system[name].append(
                chunk_links(
                    contribution_matrix(explanation), spans_of(explanation.left), spans_of(explanation.right), pair
                )
            )
    sums = {name: alignment_sums(gold, links, task.pairs) for name, links in system.items() if positive[name]}
    return {name: _task_metrics(each["alignment"], len(task.pairs)) for name, each in sums.items()}


def _task_metrics(links: LinkCounts, n: int) -> TaskMetrics:
    figures = {"alignment_f1": f1, "alignment_precision": precision, "alignment_recall": recall}
    return TaskMetrics("chunk alignment", n, tuple(Metric.of(name, n, of, links) for name, of in figures.items()))


def chunk_links(
    contributions: Doubles, left_spans: Sequence[Span], right_spans: Sequence[Span], pair: ChunkedPair
) -> list[ChunkLink]:
    """Link chunks that are each other's best match by the contributions of their tokens.

    The compared texts must be the words of the pair joined by single spaces. A token belongs to a chunk if its
    characters overlap with those of one of the chunk's words. The value of two chunks is the mean contribution of all
    their token pairs; they are linked if it is the largest of its row and of its column. All exact ties are linked,
    there is no threshold, and every link is EQUI with score 5. A chunk without a token is not linked.

    Args:
        contributions: (n, m) of each pair of tokens (`Explanation.contribution`); no special tokens.
        left_spans: n first and one-past-last characters of the left tokens; empty spans belong to no chunk.
        right_spans: m of the right tokens.
        pair: words and chunks of either side.

    Source: lee-etal-2022-clrcmd, section 5.3; characters overlap as in the paper, where its code aligns the
    characters of tokens and chunks by edit distance.
    """
    rows = _members(left_spans, pair.left, pair.left_chunks)
    columns = _members(right_spans, pair.right, pair.right_chunks)
    linked = mutual_best(pooled_contributions(contributions, rows, columns))
    return [
        ChunkLink(pair.left_chunks[i], pair.right_chunks[j], frozenset({"EQUI"}), 5.0)
        for i, j in np.argwhere(linked).tolist()
    ]


def _members(spans: Sequence[Span], words: Sequence[str], chunks: Sequence[Sequence[int]]) -> Doubles:
    """(chunks, tokens) 1 where the characters of a token overlap with a word of the chunk."""
    overlaps = word_overlaps(spans, words)
    return np.array([overlaps[[word - 1 for word in chunk]].any(axis=0) for chunk in chunks], np.float64).reshape(
        len(chunks), len(spans)
    )


@dataclass(frozen=True, slots=True)
class _WordLink:
    weight: float
    labels: frozenset[str]
    score: float


def alignment_sums(
    gold: Sequence[Sequence[ChunkLink]], system: Sequence[Sequence[ChunkLink]], pairs: Sequence[ChunkedPair]
) -> dict[Agreement, LinkCounts]:
    """Compare two alignments of n sentence pairs like the official scorer of interpretable STS.

    Each chunk link becomes links between all its words left and right, each with the labels and score of the chunk
    link; where two chunk links give the same word link, the later one counts. Words that are a single mark of
    . , : ' ` ? ; " or - are ignored, and links with an empty side make no word link. Within one alignment of a sentence
    pair, the weight of word link (i, j) is 1 / max(links of i, links of j). The agreement on a common word link is

    * 1 in its existence (alignment),
    * the Jaccard index of their labels, ignoring case (type),
    * 1 - |difference of scores| / 5 (score), where NIL counts as 0,
    * the product of both (type_score).

    Unlike the description of the task, and like the scorer released with the data of 2016, a wrong type is never
    tolerated.

    >>> pair = ChunkedPair("1", ("a", "dog"), ("dogs",), ((1, 2),), ((1,),), ())
    >>> gold = [ChunkLink((1, 2), (1,), frozenset({"EQUI"}), 5.0)]
    >>> found = [ChunkLink((2,), (1,), frozenset({"EQUI"}), 5.0)]
    >>> f1(alignment_sums([gold], [found], [pair])["alignment"]).round(6)
    array([0.666667])

    Source: agirre-etal-2016-ists, section 4.
    """
    rows = [_pair_sums(*each) for each in zip(gold, system, pairs, strict=True)]
    columns: Doubles = np.array(rows, np.float64).reshape(len(rows), 10)
    found, gold_total = columns[:, 0], columns[:, 1]
    return {
        agreement: LinkCounts(found, gold_total, columns[:, 2 + i], columns[:, 6 + i])
        for i, agreement in enumerate(AGREEMENTS)
    }


def strong_links(links: Sequence[ChunkLink]) -> tuple[ChunkLink, ...]:
    """The gold links that a similarity should find: both sides aligned, score at least 3.

    Measures without labels are evaluated on these only (lee-etal-2022-clrcmd, its code).
    """
    return tuple(link for link in links if link.left and link.right and link.score is not None and link.score >= 3)


def _pair_sums(gold: Sequence[ChunkLink], system: Sequence[ChunkLink], pair: ChunkedPair) -> list[float]:
    gold_links, system_links = _word_links(gold, pair), _word_links(system, pair)
    agreed = np.zeros((2, 4))
    for words in system_links.keys() & gold_links.keys():
        agreement = _agreement(system_links[words], gold_links[words])
        agreed[0] += system_links[words].weight * agreement
        agreed[1] += gold_links[words].weight * agreement
    totals = [sum(link.weight for link in links.values()) for links in (system_links, gold_links)]
    return [*totals, *agreed.ravel().tolist()]


def _word_links(links: Sequence[ChunkLink], pair: ChunkedPair) -> Mapping[tuple[int, int], _WordLink]:
    chunk_link_of: dict[tuple[int, int], ChunkLink] = {}
    for link in links:
        left, right = _without_marks(link.left, pair.left), _without_marks(link.right, pair.right)
        chunk_link_of.update({(i, j): link for i in left for j in right})
    links_left, links_right = Counter(i for i, _ in chunk_link_of), Counter(j for _, j in chunk_link_of)
    return {
        (i, j): _WordLink(
            1 / max(links_left[i], links_right[j]), frozenset(map(str.lower, link.labels)), float(link.score or 0.0)
        )
        for (i, j), link in chunk_link_of.items()
    }


def _without_marks(numbers: Sequence[int], words: Sequence[str]) -> list[int]:
    return [number for number in numbers if words[number - 1] not in _PUNCTUATION]


def _agreement(one: _WordLink, other: _WordLink) -> Doubles:
    labels = len(one.labels & other.labels) / max(len(one.labels | other.labels), 1)
    score = 1 - abs(one.score - other.score) / _HIGHEST
    return np.array([1.0, labels, score, labels * score])
