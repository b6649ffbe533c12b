"""Stand-in for the progress bar of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def no_progress(items: Sequence[T], what: str) -> Iterable[T]:
    del what
    return items
