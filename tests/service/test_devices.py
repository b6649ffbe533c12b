"""Of what the settings leave open, the first way that serves a model's space is taken."""

from __future__ import annotations

import logging
from pathlib import Path

import openvino
import pytest

from models.encoders.transformer import Transformer
from models.errors import BuildDisagrees, NotExportable
from models.runtimes.openvino import OpenVino
from models.runtimes.torch import Torch
from service.devices import load_source
from service.settings import Settings
from tests.small_model import draw_weights, edit, make_small


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return make_small(tmp_path / "small")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", exports=tmp_path / "exports", device="cpu")


@pytest.fixture
def unconvertible(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenVINO as it is with a network that it does not know."""

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("no translator for aten::new")

    monkeypatch.setattr(openvino, "convert_model", refuse)


def way(small: Path, settings: Settings) -> tuple[type, str]:
    encoder = load_source(str(small), settings)
    assert isinstance(encoder, Transformer)
    return type(encoder._runtime), encoder.build


def test_on_a_cpu_it_is_openvino_in_what_the_cpu_is_fastest_in(small: Path, settings: Settings) -> None:
    fastest = settings.model_copy(update={"precision": OpenVino.fastest("cpu")})
    assert way(small, settings) == (OpenVino, way(small, fastest)[1])


def test_what_the_settings_say_is_done(small: Path, settings: Settings) -> None:
    found = {
        (runtime, precision): way(small, settings.model_copy(update={"runtime": runtime, "precision": precision}))
        for runtime in ("openvino", "torch")
        for precision in ("float32", "bfloat16")
    }
    for (runtime, _), (kind, _) in found.items():
        assert kind is {"openvino": OpenVino, "torch": Torch}[runtime]
    assert len({build for _, build in found.values()}) == 4


@pytest.mark.usefixtures("unconvertible")
def test_a_network_that_openvino_does_not_know_runs_on_torch(
    small: Path, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert way(small, settings)[0] is Torch
    assert "no translator for aten::new" in caplog.text


@pytest.mark.usefixtures("unconvertible")
def test_but_not_if_openvino_was_asked_for(small: Path, settings: Settings) -> None:
    with pytest.raises(NotExportable, match="no translator"):
        way(small, settings.model_copy(update={"runtime": "openvino"}))


def test_a_network_that_rounding_breaks_runs_in_float32(
    small: Path, settings: Settings, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights of a spread of 1, that is 50 times as wide as usual, make much of every rounding."""
    monkeypatch.setattr(OpenVino, "fastest", lambda _: "bfloat16")  # as on a CPU that multiplies it
    edit(small / "config.json", initializer_range=1.0)
    draw_weights(small)
    with caplog.at_level(logging.WARNING):
        kind, build = way(small, settings)
    assert "in bfloat16 has cosine" in caplog.text
    assert (kind, build) == way(small, settings.model_copy(update={"precision": "float32", "runtime": "openvino"}))
    with pytest.raises(BuildDisagrees):
        way(small, settings.model_copy(update={"precision": "bfloat16"}))


def test_a_folder_that_cannot_be_written_costs_the_export_and_no_more(small: Path, settings: Settings) -> None:
    (settings.export_folder).write_text("in the way")
    assert way(small, settings)[0] is Torch
