"""How a service fares while something is done to it: how soon it answers /live, its memory, its counters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from tests.support.project import PROJECT
from tests.support.running_service import Service

SAMPLED_EVERY_S = 1.0
WINDOW_S = 10.0


@dataclass(frozen=True, slots=True)
class Spread:
    """Milliseconds of many requests."""

    count: int
    p50_ms: float
    p99_ms: float
    max_ms: float


@dataclass(slots=True)
class VitalSigns:
    """What was seen of a service during a block of `watched`; complete after it."""

    live: list[tuple[float, float, int]] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)
    load_average: list[float] = field(default_factory=list)

    @property
    def live_spread(self) -> Spread:
        """Of all requests for /live."""
        return spread([seconds for _, seconds, _ in self.live])

    @property
    def live_failures(self) -> int:
        """How many of them got another answer than 200, or none."""
        return sum(status != 200 for _, _, status in self.live)

    @property
    def worst_p99_ms(self) -> float:
        """The largest p99 of any ten seconds: the one of them all hides a bad time."""
        start = self.live[0][0]
        windows: dict[int, list[float]] = {}
        for began, seconds, _ in self.live:
            windows.setdefault(int((began - start) / WINDOW_S), []).append(seconds)
        return max(spread(each).p99_ms for each in windows.values())

    @property
    def settled_mb(self) -> float:
        """Least memory in the second quarter of the time: all that is loaded on first use is loaded.

        The least, because between two trims (service/process/tuning.py) it rises; what leaks is never given back.
        """
        quarter = len(self.memory_mb) // 4
        return min(self.memory_mb[quarter : 2 * quarter] or self.memory_mb)

    @property
    def final_mb(self) -> float:
        """Least memory in the last quarter."""
        return min(self.memory_mb[-max(1, len(self.memory_mb) // 4) :])


@contextmanager
def watched(service: Service) -> Iterator[VitalSigns]:
    """What is seen of a service while the block runs."""
    signs, over = VitalSigns(), threading.Event()
    address = urlsplit(service.url)
    command = [sys.executable, "-m", "tests.support.live_probe", str(address.hostname), str(address.port)]
    prober = subprocess.Popen(command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    sampler = threading.Thread(target=_sample, args=(service.process.pid, signs, over))
    sampler.start()
    try:
        yield signs
    finally:
        over.set()
        sampler.join()
        written, _ = prober.communicate()
    signs.live += [(began, seconds, status) for began, seconds, status in json.loads(written)]


def spread(seconds: Sequence[float]) -> Spread:
    """Of durations in seconds; zeros if there are none. pX is the least that X % of them do not exceed.

    >>> spread([0.004, 0.001, 0.002, 0.003])
    Spread(count=4, p50_ms=2.0, p99_ms=4.0, max_ms=4.0)
    """
    if not seconds:
        return Spread(0, 0.0, 0.0, 0.0)
    ordered = sorted(seconds)
    at = [ordered[max(0, ceil(share * len(ordered)) - 1)] for share in (0.5, 0.99, 1.0)]
    return Spread(len(ordered), *(1000 * each for each in at))


def resident_mb(pid: int) -> float:
    """Memory of a process and its children."""
    memory, parents = {}, {}
    for file in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):  # it ended meanwhile
            about = dict(line.split(":", 1) for line in file.read_text().splitlines())
            memory[int(about["Pid"])] = int(about.get("VmRSS", "0").split()[0]) / 1024
            parents[int(about["Pid"])] = int(about["PPid"])
    return sum(each for process, each in memory.items() if pid in (process, parents[process]))


def counters(url: str) -> Mapping[str, float]:
    """What /metrics says, by series, such as `semblance_errors_total{code="overloaded"}`."""
    text = httpx2.get(f"{url}/metrics", timeout=60).text
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sample.labels.items())
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def labelled(found: Mapping[str, float], name: str) -> dict[str, float]:
    """The series of one name that are not 0, by their labels."""
    return {
        key.removeprefix(name).strip("{}"): value
        for key, value in found.items()
        if value and key.startswith(f"{name}{{")
    }


def _sample(pid: int, signs: VitalSigns, over: threading.Event) -> None:
    while not over.wait(SAMPLED_EVERY_S):
        signs.memory_mb.append(resident_mb(pid))
        signs.load_average.append(os.getloadavg()[0])
