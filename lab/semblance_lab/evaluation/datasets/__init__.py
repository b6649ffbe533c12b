"""Benchmarks, one per file, which lists the sets it reads in `SETS`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from semblance.models.errors import UnknownName
from semblance_lab.evaluation.tasks import Task


@dataclass(frozen=True, slots=True)
class DataSet:
    """A benchmark that can be read from a folder of data.

    Attributes:
        name: its name on the command line.
        what: a short description.
        source: where a user gets it, with the bibliography key in brackets; never a link that the code follows.
        files: paths relative to the folder of data; the first that exists is read.
        read: reads the file or folder as a task. Raises BadDataSet, naming file and line.
    """

    name: str
    what: str
    source: str
    files: tuple[str, ...]
    read: Callable[[Path], Task]


@cache
def data_sets() -> Mapping[str, DataSet]:
    """All sets by name, in the order of the modules."""
    return {each.name: each for each in _all()}


def data_set(name: str) -> DataSet:
    """The set of that name.

    Raises:
        UnknownName: unknown set.
    """
    if name not in data_sets():
        raise UnknownName("data sets", name, tuple(data_sets()))
    return data_sets()[name]


def _all() -> Iterator[DataSet]:
    for module in pkgutil.iter_modules(__path__):
        yield from importlib.import_module(f"{__name__}.{module.name}").SETS
