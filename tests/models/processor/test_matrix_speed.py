"""The number type of networks on a CPU is the one that it multiplies matrices faster in."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from semblance.models.processor import matrix_speed
from semblance.models.processor.matrix_speed import ROUNDS, SHAPE, seconds_of_types
from semblance.models.runtimes.openvino import OpenVino
from tests.support.fake_clock import FakeClock


@pytest.fixture(autouse=True)
def _measured_anew() -> Iterator[None]:
    matrix_speed._measured.cache_clear()
    yield
    matrix_speed._measured.cache_clear()


@pytest.mark.parametrize(
    ("seconds", "precision"),
    [
        ({"float32": 1.21, "bfloat16": 1.0}, "bfloat16"),
        ({"float32": 1.19, "bfloat16": 1.0}, "float32"),
        ({"float32": 3.0, "bfloat16": 1.51, "int8": 1.0}, "int8"),
        ({"float32": 3.0, "bfloat16": 1.49, "int8": 1.0}, "bfloat16"),
        ({"float32": 1.51, "bfloat16": 9.0, "int8": 1.0}, "int8"),
        ({"float32": 1.49, "int8": 1.0}, "float32"),
    ],
)
def test_a_less_exact_type_must_be_clearly_faster(
    monkeypatch: pytest.MonkeyPatch, seconds: dict[str, float], precision: str
) -> None:
    """By the least time of each, since other work delays all runs but one."""
    clock = FakeClock()

    class Request:
        def __init__(self, seconds: float) -> None:
            self._seconds, self._runs = seconds, 0

        def infer(self, *_: Any, **__: Any) -> None:
            self._runs += 1
            clock.now += self._seconds + (self._runs != ROUNDS)

    requests = {each: Request(taken) for each, taken in seconds.items()}
    monkeypatch.setattr(matrix_speed, "time", SimpleNamespace(perf_counter=clock))
    monkeypatch.setattr(matrix_speed, "_request", lambda _, each, __: requests.get(each))
    assert OpenVino.fastest_precision("cpu") == precision
    assert OpenVino.fastest_precision("cuda") == "float32"


class Core:
    """CPU without bfloat16, whose int8 output has `rows` rows."""

    rows = 0

    def get_property(self, *_: str) -> list[str]:
        return ["FP32", "BF16", "INT8"]

    def compile_model(self, _: Any, __: str, options: dict[str, Any]) -> SimpleNamespace:
        if options["INFERENCE_PRECISION_HINT"] == "bf16":
            raise RuntimeError("cannot compile")
        rows = self.rows if "DYNAMIC_QUANTIZATION_GROUP_SIZE" in options else SHAPE[0]
        return SimpleNamespace(create_infer_request=lambda: SimpleNamespace(infer=lambda *_, **__: [np.ones(rows)]))


@pytest.mark.parametrize(("rows", "types"), [(0, {"float32"}), (SHAPE[0], {"float32", "int8"})])
def test_a_type_that_fails_is_not_measured(monkeypatch: pytest.MonkeyPatch, rows: int, types: set[str]) -> None:
    monkeypatch.setattr(Core, "rows", rows)
    monkeypatch.setattr(matrix_speed, "import_openvino", lambda: SimpleNamespace(Core=Core))
    monkeypatch.setattr(matrix_speed, "_product", lambda *_: None)
    monkeypatch.setattr(matrix_speed, "quantize", lambda graph: graph)
    assert set(seconds_of_types()) == types


def test_a_failing_measurement_chooses_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_speed, "_request", lambda *_: None)
    assert OpenVino.fastest_precision("cpu") == "float32"
