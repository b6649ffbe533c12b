"""Bars for loops within loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from models.evaluation.scorer import Track
from models.text_lines import Advance

T = TypeVar("T")


@contextmanager
def bars(console: Console) -> Iterator[Track]:
    """A bar for every loop that is under way, as long as the block lasts; none where nobody watches."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as progress:

        def track(items: Sequence[T], what: str) -> Iterator[T]:
            bar = progress.add_task(what, total=len(items))
            for item in items:
                yield item
                progress.advance(bar)
            progress.remove_task(bar)

        yield track


@contextmanager
def bar(console: Console, what: str, total: int | None, *, of_bytes: bool = False) -> Iterator[Advance]:
    """A bar for one thing that is counted; it only moves to and fro where nobody knows how much there is."""
    count = DownloadColumn() if of_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda more: progress.advance(task, more)
