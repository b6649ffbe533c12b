"""Results of benchmarks: what a file of figures records, and percentiles."""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.results import load_results, portable_command, save_results
from tests.support.service_monitor import percentiles


def test_results_record_command_day_and_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "orig_argv", [sys.executable, "-m", "benchmarks.speed.search", "--documents", "100"])
    figures = [[{"name": "a", "per_s": 1.5}], [{"share": 0.5}]]
    save_results("search", figures, tmp_path)
    results = load_results("search", tmp_path)
    assert results.figures == figures
    assert results.command == "python -m benchmarks.speed.search --documents 100"
    assert results.date.startswith("20")
    assert results.machine.endswith(f"Python {platform.python_version()}")
    (tmp_path / "search.json").write_text(json.dumps(asdict(replace(results, date="1999-12-31"))))
    assert load_results("search", tmp_path).date == "1999-12-31", "the day of the run"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["-m", "benchmarks.quality.candidates", "--data", "/the/data"],
            "-m benchmarks.quality.candidates --data $DATA",
        ),
        (["--data=/the/data/text"], "--data=$DATA/text"),
        (["--out", "/tmp/runs/out", "--home=/tmp/runs/home"], "--out out --home=home"),
        (["--data", "/the/database"], "--data database"),
        (["--only", "torch bfloat16", "texts/"], "--only 'torch bfloat16' texts/"),
    ],
)
def test_a_recorded_command_contains_no_local_path(
    arguments: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEMBLANCE_DATA", "/the/data/")
    assert portable_command(["/venv/bin/python3", *arguments]) == f"python {expected}".replace(
        "$DATA", "$SEMBLANCE_DATA"
    )


@pytest.mark.parametrize("count", [1, 2, 99, 100, 101, 1000])
def test_percentiles_agree_with_numpy_inverted_cdf(count: int) -> None:
    seconds = np.random.default_rng(count).random(count)
    summary = percentiles(seconds.tolist())
    p50, p99 = 1000 * np.percentile(seconds, (50, 99), method="inverted_cdf")
    assert (summary.p50_ms, summary.p99_ms, summary.max_ms) == pytest.approx((p50, p99, 1000 * seconds.max()))
    assert (summary.p99_ms < summary.max_ms) is (count >= 100)
