"""A loop that nothing watches, where an evaluation would show a bar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")


def untracked(items: Sequence[T], what: str) -> Iterable[T]:
    """The items."""
    del what
    return items
