"""Save and load the figures of benchmarks, with command, date and machine."""

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
class Results:
    """Figures of one run, with the command, the day and the machine."""

    command: str
    date: str
    machine: str
    figures: Any


def save_results(name: str, figures: Any, folder: Path = RESULTS) -> None:
    """Write the figures of benchmark `name` as JSON to benchmarks/results/ or another folder."""
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    machine = f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"
    results = Results(portable_command(sys.orig_argv), date, machine, figures)
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(asdict(results), indent=1) + "\n", "utf-8")


def load_results(name: str, folder: Path = RESULTS) -> Results:
    return Results(**json.loads((folder / f"{name}.json").read_text("utf-8")))


def portable_command(arguments: Sequence[str]) -> str:
    """Command line of a Python process as a user types it, without paths of this machine.

    >>> portable_command(["/venv/bin/python3", "-m", "benchmarks.speed.search", "--home=/tmp/a", "--documents", "100"])
    'python -m benchmarks.speed.search --home=a --documents 100'
    """
    return " ".join(["python", *map(_portable, arguments[1:])])


def _portable(argument: str) -> str:
    """Replace the data folder by its variable, and other absolute paths by their last part."""
    option, sign, value = argument.rpartition("=")
    path, data = Path(value), os.environ.get(DATA)
    if not path.is_absolute():
        return shlex.quote(argument)
    if data and path.is_relative_to(Path(data).absolute()):
        return f"{option}{sign}{Path(f'${DATA}') / path.relative_to(Path(data).absolute())}"
    return f"{option}{sign}{shlex.quote(path.name)}"
