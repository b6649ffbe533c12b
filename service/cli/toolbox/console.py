"""Console output of the verbs: lines, tables and progress bars."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from semblance.models.files.lines import Advance
from semblance.models.protocols import Track

FILE_WIDTH = 240  # characters of a line where standard output is no terminal

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TextTable:
    """A titled table; every row has as many cells as the header."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def print_line(console: Console, line: str) -> None:
    """Print a line verbatim: no markup, no highlighting, and only the terminal wraps it."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def print_table(table: TextTable) -> None:
    """Print a table to standard output, at full width where that is a file."""
    grid = Table(title=table.title, title_justify="left", title_style="bold")
    for name in table.header:
        grid.add_column(name, overflow="fold")
    for row in table.rows:
        grid.add_row(*row)
    _print_grid(grid)


def print_counts(title: str, sections: Iterable[Mapping[str, int | str]], name: str = "count") -> None:
    """Print one row a count, with a rule between sections; `name` is the header of the counts."""
    grid = Table("what", title=title, title_justify="left", title_style="bold")
    grid.add_column(name, justify="right")
    for section in sections:
        for label, count in section.items():
            grid.add_row(label, count if isinstance(count, str) else f"{count:,}" if count else "none")
        grid.add_section()
    _print_grid(grid)


def printing() -> Console:
    """Standard output, in color on a terminal alone; lines in a file are not wrapped."""
    return Console(highlight=False, soft_wrap=True)


def _print_grid(grid: Table) -> None:
    console = Console() if sys.stdout.isatty() else Console(width=FILE_WIDTH)
    console.print(grid)


def progress_bars(console: Console, *more: ProgressColumn, of_bytes: bool = False) -> Progress:
    """Transient progress bars with count, `more` columns, elapsed and remaining time."""
    count = DownloadColumn() if of_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), count, *more, TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True)


@contextmanager
def loop_bars(console: Console) -> Iterator[Track]:
    """Yield a function that shows a progress bar for each loop over its items."""
    with progress_bars(console) as progress:

        def track(items: Sequence[T], what: str) -> Iterator[T]:
            bar = progress.add_task(what, total=len(items))
            for item in items:
                yield item
                progress.advance(bar)
            progress.remove_task(bar)

        yield track


@contextmanager
def counter_bar(console: Console, label: str, total: int | None, *, of_bytes: bool = False) -> Iterator[Advance]:
    """Show a progress bar for one count; indeterminate without a `total`."""
    with progress_bars(console, of_bytes=of_bytes) as progress:
        task = progress.add_task(label, total=total)
        yield lambda more: progress.advance(task, more)
