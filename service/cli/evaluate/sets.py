"""Benchmarks by the names that the command line gives them."""

from __future__ import annotations

from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.evaluation.datasets import DataSet, data_set
from semblance.models.evaluation.own_data import read_own
from semblance.models.evaluation.tasks import Task


def read_task(name: str, data: Path | None) -> Task:
    """A set by its name, from the folder of data; or KIND:PATH, a file of the user's own.

    Raises:
        BadDataSet: it is missing or broken.
        UnknownName: there is no such set.
    """
    kind, colon, path = name.partition(":")
    if colon:
        return read_own(kind, Path(path))
    known = data_set(name)
    if data is None:
        raise BadDataSet(f"{name} is read from a folder of data: give --data, or set SEMBLANCE_DATA (docs/measures.md)")
    found = file_of(known, data)
    if found is None:
        looked = ", ".join(known.files)
        raise BadDataSet(f"{name} is not in {data}: none of {looked} is there; get it from {known.source}")
    return known.read(found)


def file_of(known: DataSet, data: Path) -> Path | None:
    """Where a set lies in the folder of data, if it is there."""
    return next((data / file for file in known.files if (data / file).exists()), None)
