"""Data sets by their names on the command line, and layouts of a user's files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.judgments.user_tables import PAIR_LAYOUTS, DataLayout, Layouts, UserTable, read_user_data
from semblance_lab.evaluation.contamination import texts_of
from semblance_lab.evaluation.datasets import DataSet, data_set, data_sets, ists, queries
from semblance_lab.evaluation.datasets.panel_parts import panel_name
from semblance_lab.evaluation.results import PANEL
from semblance_lab.evaluation.tasks import Task, Triplets


def _triplets(table: UserTable) -> Task:
    rows = [[row.text(table.name(column)) for column in table.columns] for row in table.rows()]
    if not rows:
        raise BadDataSet(f"{table.path} contains no triplets")
    return Triplets(*zip(*rows, strict=True))


def _chunks(table: UserTable) -> Task:
    return ists.read(table.path.with_name(f"{table.path.name}.wa"))


LAYOUTS: Layouts[Task] = {
    **PAIR_LAYOUTS,
    "triplets": DataLayout(("anchor", "positive", "negative"), _triplets),
    "ranking": DataLayout((), lambda table: queries.read_rankings(table.path)),
    "retrieval": DataLayout((), lambda table: queries.read_retrieval(table.path)),
    "ists": DataLayout((), _chunks),
}
"""Kinds of a user's files, beside the tables of judged pairs.

========= ==================================================================================
triplets  a table with the columns anchor, positive and negative
ranking   a JSON object a line: query, candidates (texts), relevance (one number each)
retrieval a folder with corpus.jsonl, queries.jsonl and qrels.tsv
ists      files PREFIX.wa and, optionally, PREFIX.sent1.chunk.txt and PREFIX.sent2.chunk.txt
========= ==================================================================================
"""


EVALUATION = "evaluation"  # every set that is not for training, and the panel
PANEL_NAME = "panel"  # all sets of the panel
_FOR_TRAINING = ("_train", "_rest")  # how the names of other sets end


def read_task(
    name: str, data: Path | None, columns: Mapping[str, str] | None = None, remedy: str | None = None
) -> Task:
    """Read a set by its name from the folder of data; or KIND:PATH, a file of the user.

    Args:
        name: the set.
        data: the folder of data.
        columns: names of the columns of a user's table, where they differ; None if the user cannot give them.
        remedy: how the user gives them, if not by `--columns`.

    Raises:
        BadDataSet: it is missing or malformed.
        UnknownName: there is no such set.
    """
    kind, colon, path = name.partition(":")
    if colon:
        return read_user_data(LAYOUTS, kind, Path(path), columns, remedy)
    if Path(name).is_file():
        raise BadDataSet(f"{name} is a file: say what it holds, as in labels:{name} or pairs:{name} (docs/measures.md)")
    benchmark = data_set(name)
    if data is None:
        raise BadDataSet(f"{name} needs a folder of data: pass --data or set SEMBLANCE_DATA (docs/measures.md)")
    file = find_file(benchmark, data)
    if file is None:
        names = ", ".join(benchmark.files)
        raise BadDataSet(f"{name} is not in {data}: no such file as {names}; get it from {benchmark.source}")
    return benchmark.read(file)


def find_file(benchmark: DataSet, data: Path) -> Path | None:
    """The file of a set in the folder of data, None if it is missing."""
    return next((data / file for file in benchmark.files if (data / file).exists()), None)


def expand_sets(names: Sequence[str]) -> list[str]:
    """Names of sets, each once, with those of the panel instead of `panel`."""
    return list(dict.fromkeys(each for name in names for each in (PANEL if name == PANEL_NAME else (name,))))


def excluded_texts(exclude: Sequence[str], data: Path | None) -> Iterator[tuple[str, str]]:
    """The name of each of these sets with each of its texts, not normalized.

    Args:
        exclude: names of sets; `panel` is the panel, and `evaluation` is every set in `data` that is in the panel or
            not for training.
        data: the folder of data.

    Raises:
        BadDataSet: a set is missing or malformed, or `evaluation` lacks a folder of data.
        UnknownName: there is no such set.
    """
    for name in _set_names(exclude, data):
        for text in texts_of(read_task(name, data)):
            yield name, text


def _set_names(exclude: Sequence[str], data: Path | None) -> list[str]:
    if EVALUATION not in exclude:
        return expand_sets(exclude)
    if data is None:
        raise BadDataSet("--exclude evaluation needs a folder of data: pass --data or set SEMBLANCE_DATA")
    present = [each.name for each in data_sets().values() if find_file(each, data) is not None]
    whole = [name for name in present if not name.endswith(_FOR_TRAINING)]
    # a part of a whole set that is excluded would only count the same rows twice
    parts = {panel_name(name) for name in whole}
    evaluation = (name for name in whole if name not in parts)
    return expand_sets([*(name for name in exclude if name != EVALUATION), *evaluation])
