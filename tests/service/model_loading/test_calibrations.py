"""Files of calibrations: what is written is read, for the models that are served."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semblance.models.errors import BadCheckpoint
from semblance.service.model_loading.calibrations import CalibrationFile, read_calibrations, save_calibration

CONTENT: dict[str, Any] = {
    "model": "minilm",
    "space": "0123456789abcdef0123",
    "measure": "rcmd",
    "data": "questions",
    "pairs": 300,
    "matches": 100,
    "error": 0.02,
    "error_interval": [0.01, 0.03],
    "brier": 0.15,
    "reliability": [{"predicted": 0.2, "observed": 0.25, "pairs": 300}],
    "scores": [0.1, 0.9],
    "probabilities": [0.25, 0.75],
}


def test_a_written_calibration_is_read_and_replaces_the_former_one(tmp_path: Path) -> None:
    save_calibration(tmp_path, CalibrationFile(**{**CONTENT, "data": "news"}))
    file = save_calibration(tmp_path, CalibrationFile(**CONTENT))
    assert file == tmp_path / "calibrations" / "0123456789abcdef-rcmd.json"
    [(key, calibration)] = read_calibrations(tmp_path, {CONTENT["space"]}).items()
    assert key == (CONTENT["space"], "rcmd")
    summary = calibration.summary
    assert (summary.data, summary.pairs, summary.error) == ("questions", 300, 0.02)
    assert calibration.probability(np.array([0.0, 0.5, 1.0])).tolist() == [0.25, 0.5, 0.75]
    assert calibration.probability_of(0.5) == 0.5


def test_calibrations_of_other_models_are_logged_and_ignored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    save_calibration(tmp_path, CalibrationFile(**CONTENT))
    with caplog.at_level(logging.WARNING):
        assert read_calibrations(tmp_path, {"another"}) == {}
    assert "another version of minilm" in caplog.text
    assert read_calibrations(tmp_path / "missing", {"another"}) == {}


@pytest.mark.parametrize(
    "change",
    [
        {"probabilities": [0.75, 0.25]},
        {"scores": [0.1, 0.1]},
        {"scores": [0.1]},
        {"scores": [], "probabilities": []},
        {"probabilities": [0.5, 1.5]},
        {"error": float("nan")},
        {"format": 2},
        {"extra": 1},
        {"data": ""},
    ],
)
def test_damaged_calibrations_are_refused_by_name(tmp_path: Path, change: dict[str, Any]) -> None:
    folder = tmp_path / "calibrations"
    folder.mkdir()
    (folder / "damaged.json").write_text(json.dumps({**CONTENT, **change}))
    with pytest.raises(BadCheckpoint, match=r"damaged\.json is not a calibration .*semblance calibrate"):
        read_calibrations(tmp_path, {CONTENT["space"]})
