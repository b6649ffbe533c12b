"""Monitor a service during a load: latency of /live, resident memory, metrics."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from tests.support.project import PROJECT
from tests.support.running_service import Service
from tests.support.servers.server_process import process_tree
from tests.support.waiting import CEILING_S

SAMPLE_INTERVAL_S = 1.0
WINDOW_S = 10.0


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Latency percentiles of a set of requests, in milliseconds."""

    count: int
    p50_ms: float
    p99_ms: float
    max_ms: float


@dataclass(slots=True)
class ServiceMonitor:
    """Measurements of one `monitored` block; complete when the block has ended.

    Attributes:
        live: start, seconds and status of each request for /live.
        memory_mb: samples of the resident memory.
        load_average: samples of the machine's load average.
    """

    live: list[tuple[float, float, int]] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)
    load_average: list[float] = field(default_factory=list)

    @property
    def live_percentiles(self) -> Percentiles:
        return percentiles([seconds for _, seconds, _ in self.live])

    @property
    def live_failures(self) -> int:
        return sum(status != 200 for _, _, status in self.live)

    @property
    def worst_p99_ms(self) -> float:
        """The largest p99 of /live in any ten seconds, which the overall p99 may hide."""
        start = self.live[0][0]
        windows: dict[int, list[float]] = {}
        for began, seconds, _ in self.live:
            windows.setdefault(int((began - start) / WINDOW_S), []).append(seconds)
        return max(percentiles(each).p99_ms for each in windows.values())

    @property
    def settled_mb(self) -> float:
        """Minimum memory in the second quarter of the time, when everything is loaded.

        The minimum, because memory rises between two trims (service/process/server.py); a leak is never returned.
        """
        quarter = len(self.memory_mb) // 4
        return min(self.memory_mb[quarter : 2 * quarter] or self.memory_mb)

    @property
    def final_mb(self) -> float:
        """Minimum memory in the last quarter of the time."""
        return min(self.memory_mb[-max(1, len(self.memory_mb) // 4) :])


@contextmanager
def monitored(service: Service) -> Iterator[ServiceMonitor]:
    monitor, pid = ServiceMonitor(), service.process.pid

    def sample() -> None:
        monitor.memory_mb.append(resident_mb(pid))
        monitor.load_average.append(os.getloadavg()[0])

    address = urlsplit(service.url)
    command = [sys.executable, "-m", "tests.support.live_probe", str(address.hostname), str(address.port)]
    probe = subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        with sampling(sample):
            yield monitor
    finally:
        output, _ = probe.communicate()
    monitor.live += [(start, seconds, status) for start, seconds, status in json.loads(output)]


@contextmanager
def sampling(sample: Callable[[], None]) -> Iterator[None]:
    stop = threading.Event()

    def run() -> None:
        while not stop.wait(SAMPLE_INTERVAL_S):
            sample()

    sampler = threading.Thread(target=run)
    sampler.start()
    try:
        yield
    finally:
        stop.set()
        sampler.join()


def percentiles(seconds: Sequence[float]) -> Percentiles:
    """Percentiles of durations, or zeros; pX is the smallest that X % do not exceed.

    >>> percentiles([0.004, 0.001, 0.002, 0.003])
    Percentiles(count=4, p50_ms=2.0, p99_ms=4.0, max_ms=4.0)
    """
    if not seconds:
        return Percentiles(0, 0.0, 0.0, 0.0)
    ordered = sorted(seconds)
    ranked = [ordered[max(0, ceil(share * len(ordered)) - 1)] for share in (0.5, 0.99, 1.0)]
    return Percentiles(len(ordered), *(1000 * each for each in ranked))


def resident_mb(pid: int) -> float:
    """Resident memory of a process and all its descendants."""
    total = 0.0
    for each in process_tree(pid):
        with suppress(OSError):  # the process has ended
            status = dict(line.split(":", 1) for line in Path(f"/proc/{each}/status").read_text().splitlines())
            total += int(status.get("VmRSS", "0").split()[0]) / 1024
    return total


def read_metrics(url: str) -> Mapping[str, float]:
    """Read /metrics, keyed by series such as `semblance_errors_total{code="overloaded"}`."""
    text = httpx2.get(f"{url}/metrics", timeout=CEILING_S).text
    series = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sample.labels.items())
            series[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return series


def series_named(series: Mapping[str, float], name: str) -> dict[str, float]:
    """Select the nonzero series of one metric, keyed by their labels."""
    return {
        key.removeprefix(name).strip("{}"): value
        for key, value in series.items()
        if value and key.startswith(f"{name}{{")
    }
