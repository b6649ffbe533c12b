"""Tables on standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.table import Table

from semblance.models.evaluation.reporting.tables import TextTable

WIDE = 240  # characters of a line in a file


def show(table: TextTable) -> None:
    """Print a table to standard output: as wide as it is where that goes to a file."""
    grid = Table(title=table.title, title_justify="left", title_style="bold")
    for name in table.header:
        grid.add_column(name, overflow="fold")
    for row in table.rows:
        grid.add_row(*row)
    _print(grid)


def show_counts(title: str, sections: Iterable[Mapping[str, int | str]], name: str = "count") -> None:
    """Print a line a count, with a rule between sections; `name` is what the column of the counts is called."""
    grid = Table("what", title=title, title_justify="left", title_style="bold")
    grid.add_column(name, justify="right")
    for section in sections:
        for what, count in section.items():
            grid.add_row(what, count if isinstance(count, str) else f"{count:,}" if count else "none")
        grid.add_section()
    _print(grid)


def _print(grid: Table) -> None:
    console = Console() if sys.stdout.isatty() else Console(width=WIDE)
    console.print(grid)
