"""Where the time of a request went, by stage; becomes the `server-timing` header."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypeAlias

Stage: TypeAlias = Literal["queue", "tokenise", "encode", "search"]
STAGES: tuple[Stage, ...] = ("queue", "tokenise", "encode", "search")

_current: ContextVar[defaultdict[Stage, float] | None] = ContextVar("timings", default=None)


def start() -> defaultdict[Stage, float]:
    """Seconds by stage for the request that this task serves from now on."""
    timings: defaultdict[Stage, float] = defaultdict(float)
    _current.set(timings)
    return timings


def record(stage: Stage, seconds: float) -> None:
    """Add to a stage; does nothing outside a request."""
    timings = _current.get()
    if timings is not None:
        timings[stage] += seconds


@contextmanager
def timed(stage: Stage) -> Iterator[None]:
    """Add the time spent inside to a stage."""
    began = time.perf_counter()
    try:
        yield
    finally:
        record(stage, time.perf_counter() - began)
