"""The fastest number type is measured once, and kept in the home folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance.models.embeddings import Precision
from semblance.models.processor import identity
from semblance.service.model_loading.fastest_precision import FILE, kept_precision


class Measurement:
    """Finds another number type each time, as a busy machine may."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self) -> Precision:
        self.runs += 1
        return "bfloat16" if self.runs % 2 else "float32"


@pytest.fixture
def measure() -> Measurement:
    return Measurement()


def test_a_runtime_is_measured_once(tmp_path: Path, measure: Measurement) -> None:
    home = tmp_path / "new" / "home"
    assert [kept_precision(home, "openvino", measure) for _ in range(3)] == ["bfloat16"] * 3
    assert kept_precision(home, "torch", measure) == "float32", "each runtime has its own"
    assert kept_precision(home, "openvino", measure) == "bfloat16"
    assert measure.runs == 2


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": "bfloat16"}', "\x00"])
def test_a_damaged_file_is_replaced(tmp_path: Path, measure: Measurement, content: str) -> None:
    (tmp_path / FILE).write_text(content, "utf-8")
    assert [kept_precision(tmp_path, "openvino", measure) for _ in range(2)] == ["bfloat16"] * 2


def test_another_processor_is_measured(tmp_path: Path, measure: Measurement, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_precision(tmp_path, "openvino", measure)
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu\n\nprocessor\t: 1\n", "utf-8")
    monkeypatch.setattr(identity, "_CPU_INFO", tmp_path / "cpuinfo")
    assert kept_precision(tmp_path, "openvino", measure) == "float32"


def test_a_choice_that_cannot_be_kept_is_used(
    tmp_path: Path, measure: Measurement, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "home").write_text("a file")
    assert kept_precision(tmp_path / "home", "openvino", measure) == "bfloat16"
    assert "cannot be kept" in caplog.text
