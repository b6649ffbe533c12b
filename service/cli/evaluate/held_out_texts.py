"""The texts that `--exclude` keeps out of what models learn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.evaluation.contamination import texts_of
from semblance.models.evaluation.datasets import data_sets
from semblance.service.cli.evaluate.sets import file_of, read_task

EVALUATION = "evaluation"  # every set that is not meant for training


def held_out_texts(exclude: Sequence[str], data: Path | None) -> Iterator[str]:
    """All texts of these sets, as they stand there; what is kept out has the normal form of one of them.

    Args:
        exclude: names of sets; `evaluation` is every set in `data` that is not meant for training.
        data: the folder of data.

    Raises:
        BadDataSet: a set is missing or broken, or there is no folder to look through.
        UnknownName: there is no such set.
    """
    for name in _sets(exclude, data):
        yield from texts_of(read_task(name, data))


def _sets(exclude: Sequence[str], data: Path | None) -> list[str]:
    if EVALUATION not in exclude:
        return list(exclude)
    if data is None:
        raise BadDataSet("--exclude evaluation looks through a folder of data: give --data, or set SEMBLANCE_DATA")
    there = [each.name for each in data_sets().values() if file_of(each, data) is not None]
    return [*(name for name in exclude if name != EVALUATION), *(name for name in there if not name.endswith("_train"))]
