"""The benchmarks, one a file: `SETS` of each names the sets it reads, where to get them, and how they are read."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from semblance.models.errors import UnknownName
from semblance.models.evaluation.tasks import Task


@dataclass(frozen=True, slots=True)
class DataSet:
    """A benchmark that can be read from a folder of data.

    Attributes:
        name: how the command line names it.
        what: what it asks, in a few words.
        source: where a user gets it, with the bibliography key in brackets; never a link that the code follows.
        files: where it is looked for under the folder, relative; the first that exists is read.
        read: makes a task of the file or folder. Raises BadDataSet, naming file and line.
    """

    name: str
    what: str
    source: str
    files: tuple[str, ...]
    read: Callable[[Path], Task]


@cache
def data_sets() -> Mapping[str, DataSet]:
    """All sets by name, in the order of the files."""
    return {each.name: each for each in _all()}


def data_set(name: str) -> DataSet:
    """The set of that name.

    Raises:
        UnknownName: there is no such set.
    """
    if name not in data_sets():
        raise UnknownName("data sets", name, tuple(data_sets()))
    return data_sets()[name]


def _all() -> Iterator[DataSet]:
    for module in pkgutil.iter_modules(__path__):
        yield from importlib.import_module(f"{__name__}.{module.name}").SETS
