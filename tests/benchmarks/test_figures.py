"""What benchmarks keep of a run, and the percentiles that they print."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.figures import command, keep, kept
from tests.support.vital_signs import spread


def test_figures_are_kept_with_the_command_the_day_and_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "orig_argv", [sys.executable, "-m", "benchmarks.speed.search", "--documents", "100"])
    figures = [[{"name": "a", "per_s": 1.5}], [{"share": 0.5}]]
    keep("search", figures, tmp_path)
    made = kept("search", tmp_path)
    assert made.figures == figures
    assert made.command == "python -m benchmarks.speed.search --documents 100"
    assert made.date.startswith("20")
    assert made.machine.endswith(f"Python {platform.python_version()}")


def test_figures_that_were_kept_keep_their_day(tmp_path: Path) -> None:
    keep("search", [], tmp_path)
    file = tmp_path / "search.json"
    file.write_text(file.read_text("utf-8").replace(kept("search", tmp_path).date, "1999-12-31"), "utf-8")
    assert kept("search", tmp_path).date == "1999-12-31"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["-m", "tests.soak.fuzz", "--examples", "200"], "-m tests.soak.fuzz --examples 200"),
        (
            ["-m", "benchmarks.quality.candidates", "--data", "/the/data"],
            "-m benchmarks.quality.candidates --data $SEMBLANCE_DATA",
        ),
        (["--data=/the/data/text"], "--data=$SEMBLANCE_DATA/text"),
        (["--out", "/tmp/runs/out", "--home=/tmp/runs/home"], "--out out --home=home"),
        (["--data", "/the/database"], "--data database"),
        (["--only", "torch bfloat16", "texts/"], "--only 'torch bfloat16' texts/"),
    ],
)
def test_a_command_holds_no_path_of_the_machine(given: list[str], shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMBLANCE_DATA", "/the/data/")
    assert command(["/venv/bin/python3", *given]) == f"python {shown}"


@pytest.mark.parametrize("count", [1, 2, 3, 99, 100, 101, 200, 1000])
def test_percentiles_are_the_least_that_so_many_do_not_exceed(count: int) -> None:
    seconds = np.random.default_rng(count).random(count)
    found = spread(seconds.tolist())
    p50, p99 = 1000 * np.percentile(seconds, (50, 99), method="inverted_cdf")
    assert (found.p50_ms, found.p99_ms, found.max_ms) == pytest.approx((p50, p99, 1000 * seconds.max()))
    assert (found.p99_ms < found.max_ms) is (count >= 100)
