"""The number type of networks on a CPU is the one that it multiplies matrices faster in."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from semblance.models.processor import matrix_speed
from semblance.models.processor.matrix_speed import MIN_GAIN, ROUNDS
from semblance.models.runtimes.openvino import OpenVino
from tests.support.fake_clock import FakeClock


@pytest.fixture(autouse=True)
def _measured_anew() -> Iterator[None]:
    matrix_speed._measured.cache_clear()
    yield
    matrix_speed._measured.cache_clear()


@pytest.mark.parametrize(
    ("number_types", "gain", "precision"),
    [
        (["FP32", "BF16"], 1.01 * MIN_GAIN, "bfloat16"),
        (["FP32", "BF16"], 0.99 * MIN_GAIN, "float32"),
        (["FP32", "INT8"], 2.0, "float32"),
    ],
)
def test_bfloat16_must_be_clearly_faster(
    monkeypatch: pytest.MonkeyPatch, number_types: list[str], gain: float, precision: str
) -> None:
    """By the least time of each, since other work delays all runs but one."""
    clock = FakeClock()

    class Request:
        def __init__(self, seconds: float) -> None:
            self._seconds, self._runs = seconds, 0

        def infer(self, *_: Any, **__: Any) -> None:
            self._runs += 1
            clock.now += self._seconds + (self._runs != ROUNDS)

    monkeypatch.setattr(matrix_speed, "time", SimpleNamespace(perf_counter=clock))
    monkeypatch.setattr(matrix_speed, "_number_types", lambda _: number_types)
    monkeypatch.setattr(matrix_speed, "_request", lambda *each: Request({"f32": 1.0, "bf16": 1 / gain}[each[-1]]))
    assert OpenVino.fastest_precision("cpu") == precision
    assert OpenVino.fastest_precision("cuda") == "float32"


def test_a_failing_measurement_chooses_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("cannot compile")

    monkeypatch.setattr(matrix_speed, "_request", fail)
    assert OpenVino.fastest_precision("cpu") == "float32"
