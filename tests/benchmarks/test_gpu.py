"""The GPU benchmark on a machine without a GPU: it runs, and reports so."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.speed.gpu import Report, peak_rate
from benchmarks.speed.on_device.random_models import STS_LENGTHS, operations, random_texts, sts_lengths, tokenizer
from tests.support.project import PROJECT
from tests.support.results import load_results

PARTS = ("bfloat16 product, TFLOP/s", "copy, TB/s", "encoding tiny", "scoring", "training", "search")


# dependencies of this project that the GPU benchmark must not import
FORBIDDEN = "faiss fastapi openvino orjson peft prometheus_client pydantic pyroaring redis rich sqlalchemy uvicorn"
RUN = f"""
import runpy, sys
sys.modules.update(dict.fromkeys({FORBIDDEN!r}.split()))
runpy.run_module("benchmarks.speed.gpu", run_name="__main__", alter_sys=True)
"""


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_every_part_runs_without_a_gpu_and_reports_so(tmp_path: Path) -> None:
    completed = subprocess.run(
        [sys.executable, "-c", RUN, "--device", "cpu", "--quick"],
        cwd=PROJECT,
        env={**os.environ, "OUT": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert "not measured" in completed.stdout
    figures = load_results("gpu_quick", tmp_path).figures
    assert set(PARTS) <= set(figures)
    assert figures["measured"] is False
    assert figures["encoding tiny"]["from_ids"]["ours"] > 0
    assert figures["training"]["peak GB"] >= 0


def test_a_failed_part_does_not_affect_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> float:
        raise RuntimeError("out of memory")

    monkeypatch.setenv("OUT", str(tmp_path))
    report = Report("cpu")
    assert peak_rate(report, "product", lambda: 2e12) == 2.0
    assert math.isnan(peak_rate(report, "copy", fail))
    figures = load_results("gpu_quick", tmp_path).figures
    assert (figures["product"], figures["faults"]) == ({"product": 2.0}, ["copy failed: out of memory"])


def test_random_texts_have_the_announced_numbers_of_tokens() -> None:
    texts = random_texts(50)
    assert [len(each.ids) for each in tokenizer().encode_batch(texts)] == sts_lengths(50)
    assert set(sts_lengths(1000)) == set(STS_LENGTHS)


def test_operations_count_the_products_of_a_layer() -> None:
    """Two operations per weight and token of each linear map, and two products of attention."""
    d, f, n = 32, 64, 10
    linear = 2 * n * (3 * d * d + d * d + d * f + f * d)
    attention = 2 * n * n * d + 2 * n * n * d
    assert operations("tiny", [n, n]) == pytest.approx(2 * 2 * (linear + attention))
