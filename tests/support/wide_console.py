"""Console for the tables of benchmarks."""

from __future__ import annotations

import sys

from rich.console import Console

WIDTH = 160  # columns if the output is no terminal; rich's default of 80 truncates tables


def wide_console() -> Console:
    """A console as wide as the terminal, or wide enough for tables if the output is no terminal."""
    return Console(width=None if sys.stdout.isatty() else WIDTH)
