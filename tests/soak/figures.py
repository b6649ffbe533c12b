"""Figures of a soak test: printed, saved and judged."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from rich.table import Table

from tests.support.results import save_results
from tests.support.wide_console import wide_console

Rows = Sequence[Mapping[str, Any]]


def broken(checks: Mapping[str, bool]) -> list[str]:
    """The bounds and guarantees that are broken, of all that are checked."""
    return [what for what, is_broken in checks.items() if is_broken]


def conclude(name: str, figures: Any, tables: Sequence[Rows], broken: Sequence[str]) -> NoReturn:
    """Save figures under a name, print tables, and exit, with status 1 if a guarantee or a bound is broken."""
    save_results(name, figures)
    console = wide_console()
    for rows in tables:
        console.print(table_of(rows))
    for each in broken:
        console.print(each, style="red", markup=False)
    sys.exit(1 if broken else 0)


def table_of(rows: Rows) -> Table:
    table = Table(*(column.replace("_", " ") for column in rows[0]))
    for row in rows:
        table.add_row(*map(_shown, row.values()))
    return table


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1e}" if 0 < abs(value) < 0.01 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
