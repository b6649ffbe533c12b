"""Of what the settings leave open, the first way that serves a model's space is taken."""

from __future__ import annotations

import logging
import weakref
from pathlib import Path
from typing import NoReturn, cast

import openvino
import pytest

from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BuildDisagrees, NotExportable
from semblance.models.model_files.source import ModelFiles
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute, Precision
from semblance.models.runtimes.openvino import OpenVino
from semblance.models.runtimes.torch import Torch
from semblance.service.model_loading.device import load, load_source
from semblance.service.settings import Settings
from tests.support.small_model import draw_weights, edit, make_small


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return make_small(tmp_path / "small")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", exports=tmp_path / "exports", device="cpu", precision="auto")


@pytest.fixture
def uncompilable(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenVINO as it is with a network that it reads but cannot run."""

    class Core(openvino.Core):  # type: ignore[misc] # it has no types
        def compile_model(self, *_: object, **__: object) -> None:
            raise RuntimeError("Check 'false' failed at src/core")

    monkeypatch.setattr(openvino, "Core", Core)


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


@pytest.mark.parametrize(
    ("network", "reason"), [("unconvertible", "no translator for aten::new"), ("uncompilable", "cannot compile")]
)
def test_a_network_that_openvino_cannot_take_runs_on_torch(
    small: Path,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    request: pytest.FixtureRequest,
    network: str,
    reason: str,
) -> None:
    request.getfixturevalue(network)
    with caplog.at_level(logging.WARNING):
        assert way(small, settings)[0] is Torch
    assert reason in caplog.text


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


class Network:
    """Takes room, and refers to itself."""

    def __init__(self) -> None:
        self.itself = self

    def run(self) -> NoReturn:
        raise RuntimeError("no kernel for it")


def refusing(serves: Compute | None) -> tuple[ModelFiles, list[Compute], list[bool]]:
    """Files that load in one way only, the ways that were tried, and whether an earlier try still held its network."""
    tried: list[Compute] = []
    held: list[bool] = []
    networks: list[weakref.ref[Network]] = []

    def load(name: str, compute: Compute) -> Encoder:
        held.append(any(network() is not None for network in networks))
        tried.append(compute)
        if compute == serves:
            return cast("Encoder", name)
        network = Network()
        networks.append(weakref.ref(network))
        try:
            network.run()
        except RuntimeError as error:
            raise NotExportable(f"not by {compute.runtime} in {compute.precision}") from error

    return ModelFiles(Path(), "mean", True, None, "s", True, load), tried, held


def ways(*named: tuple[str, Precision], settings: Settings, device: str = "cuda") -> list[Compute]:
    return [Compute(device, precision, runtime, settings.export_folder) for runtime, precision in named]


def test_on_a_gpu_each_way_follows_on_the_one_that_does_not_run(settings: Settings) -> None:
    all_ways = ways(
        ("torch_packed", "bfloat16"),
        ("torch_packed", "float32"),
        ("torch", "bfloat16"),
        ("torch", "float32"),
        settings=settings,
    )
    for count, serves in enumerate(all_ways, start=1):
        files, tried, _ = refusing(serves)
        assert load("m", files, "cuda", settings) == "m"  # type: ignore[comparison-overlap] # what a stub loads
        assert tried == all_ways[:count]
    with pytest.raises(NotExportable, match="not by torch in float32"):
        load("m", refusing(None)[0], "cuda", settings)


def test_a_network_that_was_refused_is_gone_before_the_next_takes_room(settings: Settings) -> None:
    files, tried, held = refusing(ways(("torch", "float32"), settings=settings)[0])
    load("m", files, "cuda", settings)
    assert len(tried) == 4
    assert held == [False] * 4
