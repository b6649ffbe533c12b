"""How wide the tables of benchmarks are printed."""

from __future__ import annotations

import sys

from rich.console import Console

WIDE = 160  # columns where the output is no terminal: rich would cut tables at 80


def wide_console() -> Console:
    """One that prints to a terminal as wide as it is, and elsewhere as wide as tables need it."""
    return Console(width=None if sys.stdout.isatty() else WIDE)
