"""Read a user's files in the layouts of the benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from semblance.models.errors import BadDataSet, UnknownName
from semblance.models.evaluation.datasets import (
    Columns,
    graded_pairs,
    ists,
    labeled_pairs,
    ranking,
    retrieval,
)
from semblance.models.evaluation.tasks import Task, Triplets
from semblance.models.files.tables import Row, read_table

OPTIONAL = "bundle"


def read_user_data(kind: str, path: Path, columns: Mapping[str, str] | None = None) -> Task:
    """Read a file of the user as a task.

    ========= ==================================================================================
    pairs     a table with the columns sentence1, sentence2 and score (any scale); an optional column bundle names the
              group of pairs that are resampled together
    labels    the same with label instead of score: 1 or true for a match, 0 or false otherwise
    triplets  a table with the columns anchor, positive and negative
    ranking   a JSON object a line: query, candidates (texts), relevance (one number each)
    retrieval a folder with corpus.jsonl, queries.jsonl and qrels.tsv
    ists      files PREFIX.wa and, optionally, PREFIX.sent1.chunk.txt and PREFIX.sent2.chunk.txt
    ========= ==================================================================================

    Args:
        kind: one of the layouts above.
        path: the file, the folder, or the prefix; a table is CSV, JSONL or else TSV, by its suffix.
        columns: names of the columns in the file, by the names above, where they differ; None if they cannot be
            given, so that no error asks for them.

    Raises:
        BadDataSet: naming file and line.
        UnknownName: unknown kind.
    """
    layout = _layout(kind)
    return layout.read(_Table(path, layout.columns, columns))


def column_names(kind: str) -> tuple[str, ...]:
    """Names of the columns of a kind of tables; none if it is no table. Raises UnknownName."""
    return _layout(kind).columns


def _layout(kind: str) -> DataLayout:
    if kind not in KINDS:
        raise UnknownName("kinds of user data", kind, tuple(KINDS))
    return KINDS[kind]


@dataclass(frozen=True, slots=True)
class _Table:
    """A file, the names of the columns of its layout, and those that the user gave for them."""

    path: Path
    columns: tuple[str, ...]
    given: Mapping[str, str] | None

    def name(self, column: str) -> str:
        """Name of a column in the file."""
        return (self.given or {}).get(column, column)

    def rows(self) -> Iterator[Row]:
        """The rows. Raises BadDataSet."""
        required = [column for column in self.columns if column != OPTIONAL]
        optional = [OPTIONAL] if OPTIONAL in (self.given or {}) else []
        example = ",".join(f"{column}=NAME" for column in required)
        remedy = "" if self.given is None else f"; name yours with --columns {example}"
        return read_table(self.path, [self.name(column) for column in (*required, *optional)], remedy)


@dataclass(frozen=True, slots=True)
class DataLayout:
    """A layout of user data: its columns, if it is a table, and how it is read."""

    columns: tuple[str, ...]
    read: Callable[[_Table], Task]


def _pairs(table: _Table) -> Task:
    left, right, gold = map(table.name, ("sentence1", "sentence2", "score"))
    columns = Columns(left, right, gold, group=table.name(OPTIONAL))
    return graded_pairs(table.path, columns, table.rows())


def _labels(table: _Table) -> Task:
    columns = Columns(*map(table.name, table.columns))
    return labeled_pairs(table.path, columns, table.rows())


def _triplets(table: _Table) -> Task:
    rows = [[row.text(table.name(each)) for each in table.columns] for row in table.rows()]
    if not rows:
        raise BadDataSet(f"{table.path} contains no triplets")
    return Triplets(*zip(*rows, strict=True))


def _chunks(table: _Table) -> Task:
    return ists.read(table.path.with_name(f"{table.path.name}.wa"))


KINDS: Mapping[str, DataLayout] = {
    "pairs": DataLayout(("sentence1", "sentence2", "score", OPTIONAL), _pairs),
    "labels": DataLayout(("sentence1", "sentence2", "label"), _labels),
    "triplets": DataLayout(("anchor", "positive", "negative"), _triplets),
    "ranking": DataLayout((), lambda table: ranking.read(table.path)),
    "retrieval": DataLayout((), lambda table: retrieval.read(table.path)),
    "ists": DataLayout((), _chunks),
}
