"""The list of rerank models, and the names under which they are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from semblance.models.errors import BadCheckpoint
from semblance.service.cli.main import app
from semblance.service.errors import UnknownModel
from semblance.service.model_loading.lazy_loads import LazyLoads
from semblance.service.model_loading.registry import LazyModels, read_aliases, read_rerankers, read_served, read_source
from semblance.service.model_loading.rerankers import LazyRerankers
from tests.support.cross_encoders import save_cross_encoder
from tests.support.small_model import BUILT_IN_FOLDER


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_cross_encoder(tmp_path_factory.mktemp("rerankers") / "m")


def test_each_entry_is_a_folder_with_options(folder: Path) -> None:
    files = read_rerankers(f" one={folder}, two={folder}?max_tokens=32 ,", ["minilm"])
    assert [(name, each.network.max_tokens) for name, each in files.items()] == [("one", 64), ("two", 32)]
    assert files["one"].network.space != files["two"].network.space
    assert read_rerankers("", ["minilm"]) == {}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("minilm", "name=folder"),
        ("A b={folder}", "name=folder"),
        ("minilm={folder}", "another name"),
        ("m={folder},m={folder}", "another name"),
        ("m={folder}/no", "no such folder"),
        ("m={folder}?pooling=cls", "no option 'pooling'"),
        ("m={folder}?max_tokens=0", "not a positive number"),
        (f"m={BUILT_IN_FOLDER}", "not a CrossEncoder"),
        ("m=minilm", "not a CrossEncoder"),
    ],
)
def test_other_entries_are_rejected_by_name(entry: str, reason: str, folder: Path) -> None:
    with pytest.raises(BadCheckpoint, match=reason):
        read_rerankers(entry.format(folder=folder), ["minilm"])


def test_the_other_list_names_the_setting(folder: Path) -> None:
    with pytest.raises(BadCheckpoint, match="SEMBLANCE_RERANK_MODELS"):
        read_source(str(folder))


async def test_names_and_aliases_are_of_one_kind(folder: Path) -> None:
    files = read_rerankers(f"one={folder}", ["minilm"])
    aliases = read_aliases("v3=one,large=minilm", ["minilm", *files])

    def load(name: str) -> Any:
        return name

    rerankers = LazyRerankers(files, LazyLoads(load, 30), aliases)
    models = LazyModels(read_served("minilm"), LazyLoads(load, 30), aliases, {}, rerankers)
    assert (models.names, rerankers.names) == (["minilm", "large"], ["one", "v3"])
    found: list[Any] = [await rerankers.get(name) for name in rerankers.names]
    assert found == ["one", "one"]
    for name in ("one", "v3"):
        with pytest.raises(UnknownModel, match=r"'one' is a rerank model.*minilm, large"):
            await models.get(name)
    for name in ("minilm", "large", "nosuch"):
        with pytest.raises(UnknownModel, match=rf"no rerank model '{name}'.*one, v3"):
            await rerankers.get(name)


def test_the_command_lists_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMBLANCE_RERANK_MODELS", f"one={folder}")
    ran = CliRunner().invoke(app, ["models", "--model", "minilm"])
    assert ran.exit_code == 0
    assert "rerank" in ran.output
    monkeypatch.setenv("SEMBLANCE_RERANK_MODELS", "one=/nosuch")
    assert CliRunner().invoke(app, ["models"]).exit_code == 1
