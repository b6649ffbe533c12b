"""Rows and running text that a recipe trains on, without texts that an evaluation uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from semblance.models.files.digests import digest, file_sha256
from semblance.models.files.lines import format_suffix, json_lines, text_lines
from semblance.models.files.tables import Row, collapse_spaces, read_csv, read_tsv
from semblance_lab.evaluation.contamination import MIN_WORDS, normal_form
from semblance_lab.training.errors import BadTrainingData

LabelReader: TypeAlias = Callable[[Row], float | None]
"""Reads the grade or the class number of a row; None if its annotators disagreed."""


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows of n texts each, with or without a number.

    Attributes:
        texts: name of a column -> its texts, row by row; the columns in the order of the objective.
        labels: the number of each row, or None if the recipe has no label.
        removed: rows left out because an evaluation uses one of their texts.
        removed_by: set -> how many of these rows have a text of it; a row may have texts of several sets.
        unlabeled: rows left out because their annotators disagreed.
        sha256: of the file.
    """

    texts: Mapping[str, Sequence[str]]
    labels: Sequence[float] | None
    removed: int
    removed_by: Mapping[str, int]
    unlabeled: int
    sha256: str

    def __len__(self) -> int:
        return len(next(iter(self.texts.values())))


def read_rows(
    file: Path,
    columns: Sequence[str],
    label: str | None,
    read_label: LabelReader,
    exclude: Mapping[str, Collection[str]],
    *,
    in_twos: bool = False,
) -> TrainingRows:
    """Read a table with a header, tab-separated or (`.csv`) comma-separated.

    Args:
        file: the table.
        columns: names of its text columns.
        label: name of its column with the grade or label, if the recipe has one.
        read_label: converts that column to a number.
        exclude: normal form of a text that evaluations use -> names of their sets, as `held_out_forms` returns them;
            rows with one of these texts are left out.
        in_twos: whether a row that is left out for them takes its neighbor with it.

    Raises:
        BadDataSet: the file, or one of its rows, cannot be read; the message names it.
        BadTrainingData: no row is left.
    """
    rows = _table(file, [*columns, *([] if label is None else [label])])
    evaluated = _sets_of(rows, columns, exclude, in_twos=in_twos)
    texts: dict[str, list[str]] = {name: [] for name in columns}
    labels: list[float] = []
    removed = unlabeled = 0
    removed_by: Counter[str] = Counter()
    for row, sets in zip(rows, evaluated, strict=True):
        number = None if label is None else read_label(row)
        if label is not None and number is None:
            unlabeled += 1
        elif sets:
            removed += 1
            removed_by.update(sets)
        else:
            for name in columns:
                texts[name].append(row.text(name))
            labels += [] if number is None else [number]
    by_set = dict(sorted(removed_by.items(), key=lambda each: (-each[1], each[0])))
    kept = TrainingRows(texts, None if label is None else labels, removed, by_set, unlabeled, file_sha256(file))
    if not len(kept):
        raise BadTrainingData(
            f"{file} has no row to train on ({removed} left out as evaluated, {unlabeled} unlabelled)"
        )
    return kept


def _table(file: Path, columns: Sequence[str]) -> Sequence[Row]:
    read = read_csv if format_suffix(file) == ".csv" else read_tsv
    return list(read(file, columns))


def _sets_of(
    rows: Sequence[Row], columns: Sequence[str], exclude: Mapping[str, Collection[str]], *, in_twos: bool
) -> Sequence[Collection[str]]:
    """The evaluated sets that have a text of each row, or of its neighbor."""
    sets = [{name for each in columns for name in exclude.get(normal_form(row.text(each)), ())} for row in rows]
    if not in_twos:
        return sets
    return [sets[i] | (sets[i ^ 1] if i ^ 1 < len(rows) else set()) for i in range(len(rows))]


@dataclass(frozen=True, slots=True)
class RunningText:
    """Texts of files, without labels.

    Attributes:
        texts: in the order of the files, of four words or more.
        removed: number of texts that were left out because an evaluation uses them.
        sha256: of the SHA-256 digests of the files.
    """

    texts: Sequence[str]
    removed: int
    sha256: str

    def __len__(self) -> int:
        return len(self.texts)


def read_running_text(files: Sequence[Path], exclude: Collection[str]) -> RunningText:
    """Read the texts of files, one a line.

    Args:
        files: one or more; the lines of a `.jsonl` file are objects with the field `text`.
        exclude: normal forms of texts that evaluations use; they are left out.

    Raises:
        BadTrainingData: a file cannot be read, or no text of four words is left; the message names it.
    """
    read = [text for file in files for text in _texts(file) if len(normal_form(text).split()) >= MIN_WORDS]
    texts = [text for text in read if normal_form(text) not in exclude]
    if not texts:
        raise BadTrainingData(f"{', '.join(map(str, files))}: no text of {MIN_WORDS} words or more to train with")
    return RunningText(texts, len(read) - len(texts), digest(files=[file_sha256(file) for file in files]))


def _texts(file: Path) -> Iterator[str]:
    if format_suffix(file) != ".jsonl":
        yield from (collapse_spaces(line) for _, line in text_lines(file, "strict", BadTrainingData))
        return
    for number, fields in json_lines(file, BadTrainingData):
        text = fields.get("text")
        if not isinstance(text, str):
            raise BadTrainingData(f"{file}, line {number}: the field text is missing or no string")
        yield collapse_spaces(text)
