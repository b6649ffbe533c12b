"""Does memory stay flat while an archive of tweets grows?

    python -m benchmarks.speed.pair_memory

generates archives of several sizes, runs `semblance pairs tweets` on each in its own process, and prints its peak
memory and its duration.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.support.project import PROJECT
from tests.support.random_tweets import write_archive
from tests.support.results import save_results
from tests.support.wide_console import wide_console


@dataclass(frozen=True, slots=True)
class Run:
    """Figures of one run; sizes in millions of bytes."""

    lines: int
    archive_mb: float
    limit_mb: int
    peak_mb: float
    seconds: float


def measure(folder: Path, lines: int, limit_mb: int) -> Run:
    """Generate an archive, and extract pairs from it under a memory limit."""
    archive = write_archive(folder / "archive", lines)
    arguments = ["pairs", "tweets", str(archive), "--out", str(folder / "out"), "--memory-mb", str(limit_mb)]
    command = [sys.executable, "-m", "semblance.service.cli.main", *arguments, "--threads", "2"]
    start_s = time.perf_counter()
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    size = sum(file.stat().st_size for file in archive.rglob("*.bz2"))
    return Run(lines, size / 1e6, limit_mb, usage.ru_maxrss * 1024 / 1e6, time.perf_counter() - start_s)


def show(runs: Sequence[Run], console: Console) -> None:
    """Print a row per run."""
    grid = Table("lines", "archive, MB", "limit of the tables, MB", "peak memory, MB", "seconds", "lines/s")
    for run in runs:
        figures = (f"{run.archive_mb:,.1f}", f"{run.limit_mb:,}", f"{run.peak_mb:,.0f}", f"{run.seconds:,.1f}")
        grid.add_row(f"{run.lines:,}", *figures, f"{run.lines / run.seconds:,.0f}")
    console.print(grid)
    factor = max(run.lines for run in runs) / min(run.lines for run in runs)
    first, last = (end(runs, key=lambda run: run.lines).peak_mb for end in (min, max))
    console.print(f"{factor:,.0f} times the lines take {last / first:.2f} times the memory")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, nargs="+", default=[20_000, 200_000], help="sizes of the archives")
    parser.add_argument("--memory-mb", type=int, default=200, help="limit of the tables")
    options = parser.parse_args()
    runs = []
    for lines in track(options.lines, "archives"):
        with tempfile.TemporaryDirectory() as folder:
            runs.append(measure(Path(folder), lines, options.memory_mb))
    show(runs, wide_console())
    save_results("pair_memory", {"runs": [asdict(run) for run in runs]})


if __name__ == "__main__":
    main()
