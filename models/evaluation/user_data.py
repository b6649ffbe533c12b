"""Read a user's files in the layouts of the benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from semblance.models.errors import UnknownName
from semblance.models.evaluation.datasets import (
    Columns,
    graded_pairs,
    ists,
    labeled_pairs,
    ranking,
    retrieval,
    wiki_sections,
)
from semblance.models.evaluation.tasks import Task


def read_user_data(kind: str, path: Path) -> Task:
    """Read a file of the user as a task.

    ========= ==================================================================================
    pairs     a tab-separated table with the columns sentence1, sentence2 and score (any scale); an optional column
              bundle names the group of pairs that are resampled together
    labels    the same with label instead of score: 1 or true for a match, 0 or false otherwise
    triplets  a tab-separated table with the columns anchor, positive and negative
    ranking   a JSON object a line: query, candidates (texts), relevance (one number each)
    retrieval a folder with corpus.jsonl, queries.jsonl and qrels.tsv
    ists      files PREFIX.wa and, optionally, PREFIX.sent1.chunk.txt and PREFIX.sent2.chunk.txt
    ========= ==================================================================================

    Args:
        kind: one of the layouts above.
        path: the file, the folder, or the prefix.

    Raises:
        BadDataSet: naming file and line.
        UnknownName: unknown kind.
    """
    if kind not in KINDS:
        raise UnknownName("kinds of user data", kind, tuple(KINDS))
    return KINDS[kind](path)


def _pairs(path: Path) -> Task:
    return graded_pairs(path, Columns(group="bundle"))


def _labels(path: Path) -> Task:
    return labeled_pairs(path, Columns(gold="label"))


def _chunks(prefix: Path) -> Task:
    return ists.read(prefix.with_name(f"{prefix.name}.wa"))


KINDS: Mapping[str, Callable[[Path], Task]] = {
    "pairs": _pairs,
    "labels": _labels,
    "triplets": wiki_sections.read,
    "ranking": ranking.read,
    "retrieval": retrieval.read,
    "ists": _chunks,
}
