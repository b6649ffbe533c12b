"""No verdict of a test depends on how fast a machine is."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.project import PROJECT

CLOCK = re.compile(r"\b(?:sleep|monotonic|monotonic_ns|perf_counter|process_time|thread_time)\(|\btime\.time\(")
REQUEST = re.compile(r"\bhttpx2\.(?:get|post|put|patch|delete|head|request|stream)\(")
HERE = Path(__file__)
MEASURING = ("soak", "load_generator", "live_probe", "defects/run")  # programs that measure, not tests
FILES = [
    file
    for file in sorted((PROJECT / "tests").rglob("*.py"))
    if file != HERE and (file.name.startswith("test_") or not any(each in str(file) for each in MEASURING))
]


def test_each_sleep_and_clock_has_a_reason() -> None:
    found = []
    for file in FILES:
        lines = ["", *file.read_text("utf-8").splitlines()]
        for number, line in enumerate(lines):
            if CLOCK.search(line) and "#" not in line and not lines[number - 1].lstrip().startswith("#"):
                found.append(f"{file.relative_to(PROJECT)}:{number}: {line.strip()}")
    assert found == []


def test_each_single_request_has_a_long_timeout() -> None:
    """The default of 5 s would strike on a busy machine."""
    found = [
        f"{file.relative_to(PROJECT)}: {call}"
        for file in FILES
        for call in re.split(REQUEST, file.read_text("utf-8"))[1:]
        if "timeout" not in call[:400].partition("\n\n")[0]
    ]
    assert found == []
