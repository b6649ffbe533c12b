"""Open settings: the first runtime and number type that serve a model's space are used."""

from __future__ import annotations

import gc
import logging
import shutil
import weakref
from pathlib import Path
from typing import NoReturn, cast

import pytest
from pydantic import ValidationError

from semblance.models import catalogue
from semblance.models.embeddings import Precision
from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BuildDisagrees, NotExportable
from semblance.models.model_files.checkpoint import read_checkpoint
from semblance.models.model_files.source import ModelFiles
from semblance.models.protocols import Encoder
from semblance.models.runtime import RUNTIMES, Compute
from semblance.models.runtimes.openvino import OpenVino
from semblance.models.runtimes.torch import Torch
from semblance.service.model_loading.device import load_encoder, load_source
from semblance.service.settings import Settings
from tests.support.devices import computes_in_bfloat16
from tests.support.random_networks import random_network
from tests.support.small_model import draw_weights, edit, make_small

pytestmark = pytest.mark.slow


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return make_small(tmp_path / "small")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path / "home", exports=tmp_path / "exports", device="cpu", precision="auto")


@pytest.fixture
def exported(small: Path) -> Path:
    """A network that must be exported from torch, since its activation is not BERT's."""
    edit(small / "config.json", hidden_act="relu")
    return small


def loaded_by(small: Path, settings: Settings) -> tuple[type, str]:
    encoder = load_source(str(small), settings)
    assert isinstance(encoder, Transformer)
    return type(encoder._runtime), encoder.build


def test_a_cpu_uses_openvino_in_its_fastest_precision(small: Path, settings: Settings) -> None:
    fastest = settings.model_copy(update={"precision": OpenVino.fastest_precision("cpu")})
    assert loaded_by(small, settings) == (OpenVino, loaded_by(small, fastest)[1])


def test_configured_runtime_and_precision_are_used(small: Path, settings: Settings) -> None:
    loaded = {
        (runtime, precision): loaded_by(small, settings.model_copy(update={"runtime": runtime, "precision": precision}))
        for runtime in ("openvino", "torch")
        for precision in ("float32", "bfloat16")
    }
    for (runtime, _), (kind, _) in loaded.items():
        assert kind is {"openvino": OpenVino, "torch": Torch}[runtime]
    assert len({build for _, build in loaded.values()}) == 4


def test_int8_is_refused_by_torch_with_the_remedy(small: Path, settings: Settings) -> None:
    with pytest.raises(NotExportable, match="int8 by OpenVINO alone, on CPUs: serve it in bfloat16 or float32"):
        load_source(str(small), settings.model_copy(update={"runtime": "torch", "precision": "int8"}))


@pytest.mark.parametrize(
    ("method", "reason"),
    [("tools.ovc.convert_model", "no translator for aten::new"), ("Core.compile_model", "cannot compile")],
)
def test_a_network_that_openvino_rejects_runs_on_torch_unless_configured(
    exported: Path,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    reason: str,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("no translator for aten::new")

    monkeypatch.setattr(f"openvino.{method}", refuse)
    with caplog.at_level(logging.WARNING):
        assert loaded_by(exported, settings)[0] is Torch
    assert reason in caplog.text
    with pytest.raises(NotExportable, match=reason):
        loaded_by(exported, settings.model_copy(update={"runtime": "openvino"}))


@pytest.fixture
def deberta(small: Path, tmp_path: Path) -> Path:
    """A folder with a network whose attention is its own."""
    folder = shutil.copytree(small, tmp_path / "deberta", ignore=shutil.ignore_patterns("*.safetensors"))
    random_network("deberta-v2", vocab_size=30_522).save_pretrained(folder)
    return folder


def test_one_line_says_that_a_network_runs_by_torch(
    deberta: Path, settings: Settings, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.WARNING):
        assert loaded_by(deberta, settings)[0] is Torch
        Transformer("m", read_checkpoint(deberta))  # as semblance.load, by the same encoder
    served, library = caplog.messages
    assert "runs by torch in float32, slower: a deberta-v2 has attention of its own" in served
    assert (
        library
        == f"{deberta} runs by torch, slower on a CPU: its network (deberta-v2) or tokenizer is not of BERT's kind"
    )
    assert capfd.readouterr() == ("", "")


def test_every_runtime_of_the_catalogue_can_be_configured() -> None:
    for name in ("auto", *catalogue.names(RUNTIMES)):
        assert Settings(runtime=name).runtime == name
    with pytest.raises(ValidationError, match="choose one of auto, openvino, torch, torch_packed"):
        Settings(runtime="onnx")


@pytest.mark.skipif(not computes_in_bfloat16(), reason="this CPU computes in float32 only, and so rounds nothing")
def test_a_network_sensitive_to_rounding_runs_in_float32(
    small: Path, settings: Settings, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights 50 times as wide as usual amplify rounding."""
    monkeypatch.setattr(OpenVino, "fastest_precision", lambda _: "bfloat16")  # as on a CPU that is faster in it
    edit(small / "config.json", initializer_range=1.0)
    draw_weights(small)
    with caplog.at_level(logging.WARNING):
        kind, build = loaded_by(small, settings)
    assert "in bfloat16 has cosine" in caplog.text
    assert (kind, build) == loaded_by(
        small, settings.model_copy(update={"precision": "float32", "runtime": "openvino"})
    )
    with pytest.raises(BuildDisagrees):
        loaded_by(small, settings.model_copy(update={"precision": "bfloat16"}))


def test_an_unwritable_export_folder_falls_back_to_torch(exported: Path, settings: Settings) -> None:
    (settings.export_folder).write_text("in the way")
    assert loaded_by(exported, settings)[0] is Torch


class Network:
    """A network with a reference cycle."""

    def __init__(self) -> None:
        self.itself = self

    def run(self) -> NoReturn:
        raise RuntimeError("no kernel for it")


def stub_files(accepted: Compute | None) -> tuple[ModelFiles, list[Compute], list[bool]]:
    """Files that load by one `Compute` only, the attempts, and whether a network was leaked."""
    attempts: list[Compute] = []
    leaked: list[bool] = []
    networks: list[weakref.ref[Network]] = []

    def load(name: str, compute: Compute) -> Encoder:
        leaked.append(any(network() is not None for network in networks))
        attempts.append(compute)
        if compute == accepted:
            return cast("Encoder", name)
        network = Network()
        networks.append(weakref.ref(network))
        try:
            network.run()
        except RuntimeError as error:
            raise NotExportable(f"not by {compute.runtime} in {compute.precision}") from error

    return ModelFiles(Path(), "mean", True, True, None, "s", True, load), attempts, leaked


def test_a_gpu_falls_back_through_runtimes_by_rank(settings: Settings) -> None:
    ranked: list[tuple[str, Precision]] = [
        ("torch_packed", "bfloat16"),
        ("torch_packed", "float32"),
        ("torch", "bfloat16"),
        ("torch", "float32"),
    ]
    folder, threads = settings.export_folder, settings.threads
    gc.freeze()  # what earlier tests keep: with all of it, each collection after an attempt takes a second
    expected = [Compute("cuda", precision, runtime, folder, threads) for runtime, precision in ranked]
    for count, accepted in enumerate(expected, start=1):
        files, attempts, leaked = stub_files(accepted)
        assert load_encoder("m", files, "cuda", settings) == "m"  # type: ignore[comparison-overlap] # the stub returns its name
        assert attempts == expected[:count]
        assert not any(leaked), "a rejected network is freed before the next attempt"
    with pytest.raises(NotExportable, match="not by torch in float32"):
        load_encoder("m", stub_files(None)[0], "cuda", settings)
