"""The benchmark for GPUs on a machine without one: that it runs to its end, and says that nothing was measured."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.speed.gpu import Report, ceiling
from benchmarks.speed.on_device.random_models import STS_LENGTHS, operations, random_texts, sts_lengths, tokenizer
from tests.support.figures import kept
from tests.support.project import PROJECT

PARTS = ("bfloat16 product, TFLOP/s", "copy, TB/s", "encoding tiny", "scoring", "training", "search")


# what this project needs beside torch, transformers and sentence-transformers: it runs where only these are
NOT_THERE = "faiss fastapi openvino orjson peft prometheus_client pydantic pyroaring redis rich sqlalchemy uvicorn"
RUN = f"""
import runpy, sys
sys.modules.update(dict.fromkeys({NOT_THERE!r}.split()))
runpy.run_module("benchmarks.speed.gpu", run_name="__main__", alter_sys=True)
"""


def test_every_part_runs_without_a_gpu_and_says_that_it_measured_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, "--device", "cpu", "--quick"],
        cwd=PROJECT,
        env={**os.environ, "OUT": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not measured" in done.stdout
    figures = kept("gpu_quick", tmp_path).figures
    assert set(PARTS) <= set(figures)
    assert figures["measured"] is False
    assert figures["encoding tiny"]["from_ids"]["ours"] > 0
    assert figures["training"]["peak GB"] >= 0


def test_a_ceiling_that_cannot_be_measured_costs_no_more_than_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> float:
        raise RuntimeError("out of memory")

    monkeypatch.setenv("OUT", str(tmp_path))
    report = Report("cpu")
    assert ceiling(report, "product", lambda: 2e12) == 2.0
    assert math.isnan(ceiling(report, "copy", fail))
    figures = kept("gpu_quick", tmp_path).figures
    assert (figures["product"], figures["faults"]) == ({"product": 2.0}, ["copy failed: out of memory"])


def test_texts_have_as_many_tokens_as_they_are_counted_for() -> None:
    texts = random_texts(50)
    assert [len(each.ids) for each in tokenizer().encode_batch(texts)] == sts_lengths(50)
    assert set(sts_lengths(1000)) == set(STS_LENGTHS)


def test_operations_are_those_of_the_products_that_a_layer_needs() -> None:
    """Twice the rows times the columns times the tokens of each map, and two products of attention."""
    d, f, n = 32, 64, 10
    of_maps = 2 * n * (3 * d * d + d * d + d * f + f * d)
    of_attention = 2 * n * n * d + 2 * n * n * d
    assert operations("tiny", [n, n]) == pytest.approx(2 * 2 * (of_maps + of_attention))
