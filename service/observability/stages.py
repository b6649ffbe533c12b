"""The time of a request by stage: for `server-timing`, metrics and traces."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypeAlias

from opentelemetry.trace import NoOpTracer, Tracer, get_current_span

Stage: TypeAlias = Literal["queue", "tokenise", "encode", "search", "rescore", "highlight", "keep"]
STAGES: tuple[Stage, ...] = ("queue", "tokenise", "encode", "search", "rescore", "highlight", "keep")

_times: ContextVar[StageTimes | None] = ContextVar("stage_times", default=None)


class StageTimes:
    """The stages of one request: seconds of each and, in a trace, a span of each interval.

    Args:
        tracer: of the spans, which belong to the span that is current when a stage ends.
    """

    def __init__(self, tracer: Tracer) -> None:
        self.seconds: defaultdict[Stage, float] = defaultdict(float)
        self._tracer = tracer
        self._traced = get_current_span().is_recording()
        self._epoch_ns = time.time_ns() - time.perf_counter_ns()

    def add(self, stage: Stage, began: float, ended: float, within: float = 0.0) -> None:
        """Add an interval of `time.perf_counter`; other stages took `within` seconds of it."""
        self.seconds[stage] += max(ended - began - within, 0.0)
        if self._traced:
            self._tracer.start_span(stage, start_time=self._since_epoch(began)).end(self._since_epoch(ended))

    @property
    def total(self) -> float:
        """Seconds of all stages."""
        return sum(self.seconds.values())

    def _since_epoch(self, at: float) -> int:
        return self._epoch_ns + round(at * 1e9)


def start_stages(tracer: Tracer | None = None) -> StageTimes:
    """Start the stages of this task's request."""
    times = StageTimes(tracer or NoOpTracer())
    _times.set(times)
    return times


def record_stage(stage: Stage, began: float, ended: float) -> None:
    """Add an interval of `time.perf_counter` to the current request, if there is one."""
    times = _times.get()
    if times is not None:
        times.add(stage, began, ended)


@contextmanager
def timed(stage: Stage) -> Iterator[None]:
    """Add the time inside the block, less that of stages in it, to a stage of the request.

    >>> times = start_stages()
    >>> with timed("highlight"):
    ...     record_stage("encode", 0.0, 1.0)
    >>> times.seconds["encode"], times.seconds["highlight"]
    (1.0, 0.0)
    """
    times = _times.get()
    began, before = time.perf_counter(), times.total if times else 0.0
    try:
        yield
    finally:
        if times is not None:
            times.add(stage, began, time.perf_counter(), times.total - before)
