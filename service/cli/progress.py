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
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from semblance.models.evaluation.scorer import Track
from semblance.models.files.lines import Advance

T = TypeVar("T")


def counting(console: Console, *more: ProgressColumn, of_bytes: bool = False) -> Progress:
    """Bars that tell what is done of how much, more columns, and the time gone and left; at the end they vanish."""
    count = DownloadColumn() if of_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), count, *more, TimeElapsedColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True)


@contextmanager
def bars(console: Console) -> Iterator[Track]:
    """A bar for every loop that is under way, as long as the block lasts; none where nobody watches."""
    with counting(console) as progress:

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
    with counting(console, of_bytes=of_bytes) as progress:
        task = progress.add_task(what, total=total)
        yield lambda more: progress.advance(task, more)
