"""Interpretable STS: do the links of an explanation join the chunks that people joined?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from semblance.models.embeddings import Doubles
from semblance.models.evaluation.chunk_links import chunk_links
from semblance.models.evaluation.scorer import Scorer
from semblance.models.evaluation.statistics.chunk_f1 import (
    AlignmentSums,
    alignment_sums,
    f1,
    precision,
    recall,
    strong_links,
)
from semblance.models.evaluation.statistics.quantities import Judged, Quantity
from semblance.models.evaluation.tasks import ChunkAlignment, ChunkLink
from semblance.models.explanation import LinkList
from semblance.models.text import Unit


def judge(task: ChunkAlignment, scorer: Scorer, measures: Sequence[str]) -> Mapping[str, Judged]:
    """Alignment F1 of chunks under the protocol of CLRCMD, for those measures that explain their score.

    Each measure's contributions of token pairs are averaged over chunk pairs; chunks that are each other's best are
    aligned. The gold alignment keeps what is aligned and scored 3 or more. Measures all of whose links take away, such
    as distances, are left out: what contributes nothing would be the best link.
    """
    left = [" ".join(pair.left) for pair in task.pairs]
    right = [" ".join(pair.right) for pair in task.pairs]
    gold = [strong_links(pair.gold) for pair in task.pairs]
    system: defaultdict[str, list[list[ChunkLink]]] = defaultdict(list)
    adding: defaultdict[str, bool] = defaultdict(bool)
    for pair, whys in zip(task.pairs, scorer.links(measures, left, right, "token"), strict=True):
        for name, why in whys.items():
            adding[name] |= any(link.contribution > 0 for link in why.links)
            system[name].append(chunk_links(_parts(why), _spans(why.left), _spans(why.right), pair))
    sums = {name: alignment_sums(gold, links, task.pairs) for name, links in system.items() if adding[name]}
    return {name: _judged(each, len(task.pairs)) for name, each in sums.items()}


def _judged(sums: AlignmentSums, n: int) -> Judged:
    figures = {"alignment_f1": f1, "alignment_precision": precision, "alignment_recall": recall}
    quantities = (Quantity.of(name, n, of, sums) for name, of in figures.items())
    return Judged("chunk alignment", n, tuple(quantities))


def _parts(why: LinkList) -> Doubles:
    """(n, m) contributions of token pairs."""
    parts = np.zeros((len(why.left), len(why.right)))
    for link in why.links:
        parts[link.left, link.right] = link.contribution
    return parts


def _spans(units: Sequence[Unit]) -> list[tuple[int, int]]:
    return [(unit.start, unit.end) for unit in units]
