"""Benchmarks: each module lists the sets that it reads in `SETS`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
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


def benchmark(read: Callable[[Path], Task], source: str, *rows: tuple[str, ...]) -> tuple[DataSet, ...]:
    """The sets of one benchmark, from rows of name, description and one or more files."""
    return tuple(DataSet(name, what, source, tuple(files), read) for name, what, *files in rows)


def splits(
    read: Callable[[Path], Task], source: str, what: str, files: Sequence[str], **names: str
) -> tuple[DataSet, ...]:
    """The sets of a benchmark that differ by one word, in place of {}, in description and files."""
    rows = ((name, what.format(word), *(file.format(word) for file in files)) for name, word in names.items())
    return benchmark(read, source, *rows)


@cache
def data_sets() -> Mapping[str, DataSet]:
    """All sets by name, in the order of the modules."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return {data_set.name: data_set for module in modules for data_set in module.SETS}


def data_set(name: str) -> DataSet:
    """The set of that name.

    Raises:
        UnknownName: unknown set.
    """
    if name not in data_sets():
        raise UnknownName("data sets", name, tuple(data_sets()))
    return data_sets()[name]
