"""The time of a request by stage: for `server-timing`, metrics and traces."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypeAlias

from opentelemetry.trace import NoOpTracer, Tracer, get_current_span

Stage: TypeAlias = Literal["queue", "tokenise", "encode", "search", "rescore", "highlight"]
STAGES: tuple[Stage, ...] = ("queue", "tokenise", "encode", "search", "rescore", "highlight")

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

    def add(self, stage: Stage, began: float, ended: float) -> None:
        """Add an interval, in seconds of `time.perf_counter`."""
        self.seconds[stage] += ended - began
        if self._traced:
            self._tracer.start_span(stage, start_time=self._since_epoch(began)).end(self._since_epoch(ended))

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
    """Add the time spent inside the block to a stage of the current request."""
    began = time.perf_counter()
    try:
        yield
    finally:
        record_stage(stage, began, time.perf_counter())
