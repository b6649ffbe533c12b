"""A user's own data, in the layouts that the benchmarks have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from semblance.models.errors import UnknownName
from semblance.models.evaluation.datasets import ists, ranking, retrieval, wiki_sections
from semblance.models.evaluation.pairs import Columns, graded_pairs, labelled_pairs
from semblance.models.evaluation.tasks import Task


def read_own(kind: str, path: Path) -> Task:
    """A task of the user's own.

    ========= ==================================================================================
    pairs     a table by tabs with the columns sentence1, sentence2 and score (any scale); a column bundle, if there
              is one, names the group of pairs that are resampled together
    labels    the same with label instead of score: 1 or true for a match, 0 or false for none
    triplets  a table by tabs with the columns anchor, positive and negative
    ranking   a JSON object a line: query, candidates (texts), relevance (as many numbers)
    retrieval a folder with corpus.jsonl, queries.jsonl and qrels.tsv
    ists      files PREFIX.wa and, if there are, PREFIX.sent1.chunk.txt and PREFIX.sent2.chunk.txt
    ========= ==================================================================================

    Args:
        kind: one of these.
        path: the file, the folder, or the prefix.

    Raises:
        BadDataSet: naming file and line.
        UnknownName: there is no such kind.
    """
    if kind not in KINDS:
        raise UnknownName("kinds of own data", kind, tuple(KINDS))
    return KINDS[kind](path)


def _pairs(path: Path) -> Task:
    return graded_pairs(path, Columns(group="bundle"))


def _labels(path: Path) -> Task:
    return labelled_pairs(path, Columns(said="label"))


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
