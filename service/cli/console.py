"""Lines for people."""

from __future__ import annotations

from rich.console import Console


def say(console: Console, line: str) -> None:
    """Print a line as it is: brackets are no markup, numbers have no colour, and a terminal folds it, not we."""
    console.print(line, markup=False, highlight=False, soft_wrap=True)
