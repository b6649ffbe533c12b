"""How well are chunks aligned? The four F1 of interpretable STS, in sums per sentence pair that can be resampled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.evaluation.statistics.counts import by_row_blocks, share
from semblance.models.evaluation.tasks import ChunkedPair, ChunkLink

Agreement: TypeAlias = Literal["alignment", "type", "score", "type_score"]
AGREEMENTS: tuple[Agreement, ...] = ("alignment", "type", "score", "type_score")

_PUNCTUATION = frozenset(".,:'`?;\"-")
_HIGHEST = 5.0  # scores go from 0 to 5


@dataclass(frozen=True, slots=True, eq=False)
class AlignmentSums:
    """What each of n sentence pairs adds to precision and recall, for the four kinds of agreement.

    Attributes:
        system_total: (n,) the weights of all word links of the system.
        gold_total: (n,) the same of the gold alignment.
        system_found: (n, 4) the weights of the system's links that are gold links too, times how far both agree.
        gold_found: (n, 4) the same with the weights of the gold alignment.
    """

    system_total: Doubles
    gold_total: Doubles
    system_found: Doubles
    gold_found: Doubles


@dataclass(frozen=True, slots=True)
class _WordLink:
    weight: float
    labels: frozenset[str]
    score: float


def alignment_sums(
    gold: Sequence[Sequence[ChunkLink]], system: Sequence[Sequence[ChunkLink]], pairs: Sequence[ChunkedPair]
) -> AlignmentSums:
    """Compare two alignments of the same n sentence pairs, as the official scorer of interpretable STS does.

    Each chunk link becomes links between all its words left and right, of which each carries its labels and score;
    where two chunk links give the same word link, the later one counts. Words that are a single mark of . , : ' ` ? ;
    " or - take no part, and links with an empty side make no word link. Within one alignment of a sentence pair, the
    weight of word link (i, j) is 1 / max(links of i, links of j). Two alignments that share a word link agree on it

    * by 1 in its existence (alignment),
    * by the Jaccard index of their labels, ignoring case (type),
    * by 1 - |difference of scores| / 5 (score), where NIL counts as 0,
    * by the product of both (type_score).

    Departs from the description of the task in that a wrong type is never pardoned, as the scorer that came with the
    data of 2016 does not either.

    Source: agirre-etal-2016-ists, section 4.
    """
    rows = [_sums_of(*each) for each in zip(gold, system, pairs, strict=True)]
    columns: Doubles = np.array(rows, np.float64).reshape(len(rows), 10)
    return AlignmentSums(columns[:, 0], columns[:, 1], columns[:, 2:6], columns[:, 6:])


def precision(sums: AlignmentSums, counts: Doubles | None = None, agreement: Agreement = "alignment") -> Doubles:
    """(b,) the share of the system's links that the gold alignment confirms, over all pairs of a sample together.

    0 where the system has no links. `counts` (b, n) says how often each pair stands in each sample; None: once.
    """
    return _share(sums.system_found, sums.system_total, counts, agreement)


def recall(sums: AlignmentSums, counts: Doubles | None = None, agreement: Agreement = "alignment") -> Doubles:
    """(b,) the share of the gold links that the system found; as `precision`."""
    return _share(sums.gold_found, sums.gold_total, counts, agreement)


def f1(sums: AlignmentSums, counts: Doubles | None = None, agreement: Agreement = "alignment") -> Doubles:
    """(b,) the harmonic mean of precision and recall of each sample; 0 where both are 0.

    >>> pair = ChunkedPair("1", ("a", "dog"), ("dogs",), ((1, 2),), ((1,),), ())
    >>> gold = [ChunkLink((1, 2), (1,), frozenset({"EQUI"}), 5.0)]
    >>> found = [ChunkLink((2,), (1,), frozenset({"EQUI"}), 5.0)]
    >>> f1(alignment_sums([gold], [found], [pair])).round(6)
    array([0.666667])
    """
    p, r = precision(sums, counts, agreement), recall(sums, counts, agreement)
    return share(2 * p * r, p + r)


def strong_links(links: Sequence[ChunkLink]) -> tuple[ChunkLink, ...]:
    """The links that a similarity should find: both sides aligned, and a score of at least 3.

    So the gold alignment is filtered before measures without labels are judged by it (lee-etal-2022-clrcmd, its code).
    """
    return tuple(link for link in links if link.left and link.right and link.score is not None and link.score >= 3)


def _sums_of(gold: Sequence[ChunkLink], system: Sequence[ChunkLink], pair: ChunkedPair) -> list[float]:
    of_gold, of_system = _word_links(gold, pair), _word_links(system, pair)
    found = np.zeros((2, 4))
    for place in of_system.keys() & of_gold.keys():
        agreement = _agreement(of_system[place], of_gold[place])
        found[0] += of_system[place].weight * agreement
        found[1] += of_gold[place].weight * agreement
    totals = [sum(link.weight for link in links.values()) for links in (of_system, of_gold)]
    return [*totals, *found.ravel().tolist()]


def _word_links(links: Sequence[ChunkLink], pair: ChunkedPair) -> Mapping[tuple[int, int], _WordLink]:
    said: dict[tuple[int, int], ChunkLink] = {}
    for link in links:
        left, right = _without_marks(link.left, pair.left), _without_marks(link.right, pair.right)
        said.update({(i, j): link for i in left for j in right})
    of_left, of_right = Counter(i for i, _ in said), Counter(j for _, j in said)
    return {
        (i, j): _WordLink(
            1 / max(of_left[i], of_right[j]), frozenset(map(str.lower, link.labels)), float(link.score or 0.0)
        )
        for (i, j), link in said.items()
    }


def _without_marks(numbers: Sequence[int], words: Sequence[str]) -> list[int]:
    return [number for number in numbers if words[number - 1] not in _PUNCTUATION]


def _agreement(one: _WordLink, other: _WordLink) -> Doubles:
    labels = len(one.labels & other.labels) / max(len(one.labels | other.labels), 1)
    score = 1 - abs(one.score - other.score) / _HIGHEST
    return np.array([1.0, labels, score, labels * score])


def _share(found: Doubles, total: Doubles, counts: Doubles | None, agreement: Agreement) -> Doubles:
    agreed = found[:, AGREEMENTS.index(agreement)]
    return by_row_blocks(lambda rows: share(rows @ agreed, rows @ total), counts, len(total))
