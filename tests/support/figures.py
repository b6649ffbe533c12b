"""Where the figures of a benchmark are kept."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.project import PROJECT

RESULTS = PROJECT / "benchmarks" / "results"
DATA = "SEMBLANCE_DATA"


@dataclass(frozen=True, slots=True)
class Kept:
    """What a benchmark came to: the command that ran, on which day and machine, and its figures."""

    command: str
    date: str
    machine: str
    figures: Any


def keep(name: str, figures: Any, folder: Path = RESULTS) -> None:
    """Write what benchmark `name` came to as JSON into benchmarks/results/, or another folder."""
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    machine = f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"
    made = Kept(command(sys.orig_argv), date, machine, figures)
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(asdict(made), indent=1) + "\n", "utf-8")


def kept(name: str, folder: Path = RESULTS) -> Kept:
    """What the last run of benchmark `name` came to."""
    return Kept(**json.loads((folder / f"{name}.json").read_text("utf-8")))


def command(arguments: Sequence[str]) -> str:
    """A command line of Python as one types it anywhere: no path of this machine stands in it.

    >>> command(["/venv/bin/python3", "-m", "benchmarks.speed.search", "--home=/tmp/a", "--documents", "100"])
    'python -m benchmarks.speed.search --home=a --documents 100'
    """
    return " ".join(["python", *map(_anywhere, arguments[1:])])


def _anywhere(argument: str) -> str:
    """With the data's folder as the variable that names it, and of any other absolute path its last part."""
    option, sign, value = argument.rpartition("=")
    path, data = Path(value), os.environ.get(DATA)
    if not path.is_absolute():
        return shlex.quote(argument)
    if data and path.is_relative_to(Path(data).absolute()):
        return f"{option}{sign}{Path(f'${DATA}') / path.relative_to(Path(data).absolute())}"
    return f"{option}{sign}{shlex.quote(path.name)}"
