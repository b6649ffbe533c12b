"""The number type of networks on a CPU is the one that it multiplies matrices faster in."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from semblance.models.processor import matrix_speed
from semblance.models.processor.matrix_speed import MIN_GAIN
from semblance.models.runtimes.openvino import OpenVino

SECONDS = 0.002


class Sleeping:
    """A request that takes as long as told."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def infer(self, inputs: Sequence[Any], **_: bool) -> None:
        del inputs
        time.sleep(self._seconds)


@pytest.fixture
def _measured_anew() -> Iterator[None]:
    matrix_speed._measured.cache_clear()
    yield
    matrix_speed._measured.cache_clear()


@pytest.mark.usefixtures("_measured_anew")
@pytest.mark.parametrize(("gain", "precision"), [(1.6 * MIN_GAIN, "bfloat16"), (1.0, "float32"), (0.5, "float32")])
def test_bfloat16_must_be_clearly_faster(monkeypatch: pytest.MonkeyPatch, gain: float, precision: str) -> None:
    seconds: Mapping[str, float] = {"f32": SECONDS, "bf16": SECONDS / gain}
    monkeypatch.setattr(matrix_speed, "_number_types", lambda _: ["FP32", "BF16"])
    monkeypatch.setattr(matrix_speed, "_request", lambda *each: Sleeping(seconds[each[-1]]))
    assert OpenVino.fastest_precision("cpu") == precision
    assert OpenVino.fastest_precision("cuda") == "float32"


@pytest.mark.usefixtures("_measured_anew")
def test_a_cpu_without_bfloat16_computes_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_speed, "_number_types", lambda _: ["FP32", "INT8"])
    monkeypatch.setattr(matrix_speed, "_request", lambda *each: Sleeping(SECONDS / (1 + (each[-1] == "bf16"))))
    assert OpenVino.fastest_precision("cpu") == "float32"


@pytest.mark.usefixtures("_measured_anew")
def test_a_failing_measurement_chooses_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("cannot compile")

    monkeypatch.setattr(matrix_speed, "_request", fail)
    assert OpenVino.fastest_precision("cpu") == "float32"
