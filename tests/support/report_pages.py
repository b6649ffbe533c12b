"""Write the figures of benchmarks as sections of pages in docs/."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.project import PROJECT
from tests.support.results import Results, load_results

DOCS = PROJECT / "docs"


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page that is generated from the figures of a benchmark.

    Attributes:
        module: module name of the benchmark.
        title: heading.
        options: command-line options; may contain $VARIABLES.
        results_name: name under which the figures are saved, if not the last part of the module name.
    """

    module: str
    title: str
    options: tuple[str, ...] = ()
    results_name: str = ""

    @property
    def name(self) -> str:
        """Name of the figures and of the markers in the page."""
        return self.results_name or self.module.rpartition(".")[2]


def run_benchmark(section: Section) -> Results:
    """Run a benchmark and return its results. Raises SystemExit if it fails."""
    print(f"== {section.title}: python -m {section.module}", *section.options, flush=True)
    options = [os.path.expandvars(option) for option in section.options]
    if subprocess.run([sys.executable, "-m", section.module, *options], check=False).returncode:
        raise SystemExit(f"{section.name} failed; the page is unchanged")
    return load_results(section.name)


def write_section(page: Path, section: Section, results: Results, pictures: Sequence[Path] = ()) -> None:
    text = "\n".join(_lines(section, results, [picture.relative_to(page.parent) for picture in pictures]))
    pattern = rf"<!-- {section.name} -->.*<!-- /{section.name} -->"
    content, count = re.subn(pattern, lambda _: text, page.read_text("utf-8"), flags=re.DOTALL)
    assert count == 1, f"{page.name} needs one <!-- {section.name} --> ... <!-- /{section.name} -->"
    page.write_text(content, "utf-8")


def _lines(section: Section, results: Results, pictures: Sequence[Path]) -> Iterator[str]:
    yield f"<!-- {section.name} -->"
    yield f"### {section.title}"
    yield ""
    yield f"`{results.command}` on {results.date}: {results.machine}."
    for caption, table in _tables(results.figures):
        yield from ("", f"**{_words(caption)}**") if caption else ()
        yield from _table(table)
    for picture in pictures:
        yield ""
        yield f"![{section.title}]({picture})"
    yield f"<!-- /{section.name} -->"


def _tables(figures: Any, caption: str = "") -> Iterator[tuple[str, Any]]:
    """Split figures into tables with captions; nested lists and mappings become separate tables."""
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
    """Format a mapping as two columns, or a list of mappings as one row each."""
    if isinstance(figures, dict):
        figures = [{"figure": _words(name), "value": value} for name, value in figures.items()]
    names = list(figures[0])
    yield ""
    yield f"| {' | '.join(map(_words, names))} |"
    yield "|---" * len(names) + "|"
    for line in figures:
        yield f"| {' | '.join(_format(line[name]) for name in names)} |"


def _words(name: str) -> str:
    return name.replace("_", " ")


def _format(value: object) -> str:
    if isinstance(value, list):
        return " to ".join(map(_format, value))
    if isinstance(value, float):
        if 0.995 <= value < 1:  # a cosine: its distance from 1 matters
            return f"{value:.5f}"
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
