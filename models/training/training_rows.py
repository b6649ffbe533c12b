"""The rows that a recipe trains on, and which of them are left out because an evaluation asks for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from semblance.models.evaluation.contamination import normal_form
from semblance.models.files.digests import file_sha256
from semblance.models.files.tables import Row, comma_table, table
from semblance.models.training.errors import BadTrainingData

Number: TypeAlias = Callable[[Row], float | None]
"""The grade or the number of the label of a row; None where nobody could agree on one."""


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows of n texts each, perhaps with a number.

    Attributes:
        texts: name of a column -> its texts, row by row; the columns in the order of the objective.
        labels: the number of each row, or None where rows have none.
        removed: rows left out because an evaluation asks for one of their texts.
        unlabelled: rows left out because nobody could agree on a label.
        sha256: of the file.
    """

    texts: Mapping[str, Sequence[str]]
    labels: Sequence[float] | None
    removed: int
    unlabelled: int
    sha256: str

    def __len__(self) -> int:
        return len(next(iter(self.texts.values())))


def read_rows(
    file: Path, columns: Sequence[str], label: str | None, number: Number, evaluated: Collection[str]
) -> TrainingRows:
    """The rows of a table with a header, tab-separated or (`.csv`) comma-separated.

    Args:
        file: what to read.
        columns: its columns of text.
        label: its column with the grade or label, if the recipe wants one.
        number: reads that.
        evaluated: normal forms of the texts that evaluations ask for; rows with one of them are left out.

    Raises:
        BadDataSet: the file, or one of its rows, cannot be read; the message names it.
        BadTrainingData: no row is left.
    """
    read = comma_table if file.suffix == ".csv" else table
    texts: dict[str, list[str]] = {name: [] for name in columns}
    labels: list[float] = []
    removed = unlabelled = 0
    for row in read(file, [*columns, *([] if label is None else [label])]):
        found = [row.text(name) for name in columns]
        known = None if label is None else number(row)
        if label is not None and known is None:
            unlabelled += 1
        elif any(normal_form(text) in evaluated for text in found):
            removed += 1
        else:
            for name, text in zip(columns, found, strict=True):
                texts[name].append(text)
            labels += [] if known is None else [known]
    rows = TrainingRows(texts, None if label is None else labels, removed, unlabelled, file_sha256(file))
    if not len(rows):
        raise BadTrainingData(
            f"{file} has no row to train on ({removed} left out as evaluated, {unlabelled} unlabelled)"
        )
    return rows
