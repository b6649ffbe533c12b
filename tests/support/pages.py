"""Pages of docs/ with parts that benchmarks write: the command, the day, the machine, and the figures as tables."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.figures import Kept, kept
from tests.support.project import PROJECT

DOCS = PROJECT / "docs"


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a page that a benchmark writes.

    Attributes:
        module: the benchmark, as Python imports it.
        title: of the part.
        options: what it is run with; may hold $VARIABLES.
        kept_as: the name of its figures, where that is not the module's own.
    """

    module: str
    title: str
    options: tuple[str, ...] = ()
    kept_as: str = ""

    @property
    def name(self) -> str:
        """Of the figures that it keeps."""
        return self.kept_as or self.module.rpartition(".")[2]

    @property
    def command(self) -> str:
        """Its command line, as one types it."""
        return " ".join(["python", "-m", self.module, *self.options])


def run(part: Part) -> Kept:
    """What one benchmark came to. Raises SystemExit if it failed."""
    print(f"== {part.title}: {part.command}", flush=True)
    options = [os.path.expandvars(option) for option in part.options]
    if subprocess.run([sys.executable, "-m", part.module, *options], check=False).returncode:
        raise SystemExit(f"{part.name} failed: the page stays as it was")
    return kept(part.name)


def write(page: Path, part: Part, made: Kept, pictures: Sequence[Path] = ()) -> None:
    """Write a part of a page anew."""
    text = "\n".join(_section(part, made, [picture.relative_to(page.parent) for picture in pictures]))
    pattern = rf"<!-- {part.name} -->.*<!-- /{part.name} -->"
    written, count = re.subn(pattern, lambda _: text, page.read_text("utf-8"), flags=re.DOTALL)
    assert count == 1, f"{page.name} needs one <!-- {part.name} --> ... <!-- /{part.name} -->"
    page.write_text(written, "utf-8")


def _section(part: Part, made: Kept, pictures: Sequence[Path]) -> Iterator[str]:
    """Its lines."""
    yield f"<!-- {part.name} -->"
    yield f"### {part.title}"
    yield ""
    yield f"`{made.command}` on {made.date}: {made.machine}."
    for caption, table in _tables(made.figures):
        yield from ("", f"**{_words(caption)}**") if caption else ()
        yield from _table(table)
    for picture in pictures:
        yield ""
        yield f"![{part.title}]({picture})"
    yield f"<!-- /{part.name} -->"


def _tables(figures: Any, caption: str = "") -> Iterator[tuple[str, Any]]:
    """The caption and the figures of each table: lists and names within names have tables of their own."""
    if isinstance(figures, list) and isinstance(figures[0], list):
        for each in figures:
            yield "", each
    elif isinstance(figures, dict):
        plain = {name: value for name, value in figures.items() if not isinstance(value, list | dict)}
        if plain:
            yield caption, plain
        for name, value in figures.items():
            if isinstance(value, list | dict):
                yield from _tables(value, f"{caption} {name}".strip())
    else:
        yield caption, figures


def _table(figures: Any) -> Iterator[str]:
    """An empty line, then named figures as two columns, or a list of such as a line each."""
    if isinstance(figures, dict):
        figures = [{"figure": _words(name), "value": value} for name, value in figures.items()]
    names = list(figures[0])
    yield ""
    yield f"| {' | '.join(map(_words, names))} |"
    yield "|---" * len(names) + "|"
    for line in figures:
        yield f"| {' | '.join(_shown(line[name]) for name in names)} |"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _shown(value: object) -> str:
    if isinstance(value, list):
        return " to ".join(map(_shown, value))
    if isinstance(value, float):
        if 0.995 <= value < 1:  # of a cosine, what it lacks matters
            return f"{value:.5f}"
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
