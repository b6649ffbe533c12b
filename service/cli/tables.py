"""Tables on standard output."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from models.evaluation.report_tables import TextTable

WIDE = 240  # characters of a line in a file


def show(table: TextTable) -> None:
    """Print a table to standard output: as wide as it is where that goes to a file."""
    console = Console() if sys.stdout.isatty() else Console(width=WIDE)
    grid = Table(title=table.title, title_justify="left", title_style="bold")
    for name in table.header:
        grid.add_column(name, overflow="fold")
    for row in table.rows:
        grid.add_row(*row)
    console.print(grid)
