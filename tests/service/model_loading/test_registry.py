"""The list of served models: built-in models, folders, files and their options."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from typer.testing import CliRunner

from semblance.models.adaptation.affine_map import read_affine_map
from semblance.models.errors import BadCheckpoint
from semblance.models.model_files.lora import CONFIG, WEIGHTS
from semblance.models.projections.whitening import Whitening
from semblance.service.cli.main import app
from semblance.service.errors import ModelUnavailable, UnknownModel
from semblance.service.model_loading.builtin import BUILT_IN, BuiltIn
from semblance.service.model_loading.lazy_loads import LazyLoads
from semblance.service.model_loading.refused_models import RefusedModels
from semblance.service.model_loading.registry import (
    LazyModels,
    read_aliases,
    read_rerankers,
    read_served,
    read_source,
    read_truncations,
)
from semblance.service.model_loading.typical_scores import NAME as TYPICAL
from semblance.service.settings import Settings
from semblance_lab.cli.train import read_recipe
from tests.support.project import PROJECT
from tests.support.small_model import WORD_DIM, load, make_small, random_vectors, save_map, write_glove

WORDS = [f"w{i}" for i in range(40)]
RECIPES = {  # file of a shipped adapter -> its recipe
    **dict.fromkeys(("recipe", "entailments"), "clrcmd"),
    **dict.fromkeys(("captions", "arguments"), "sbert_regression"),
}
ADAPTED = ("minilm-graded", "minilm-words", "minilm-clrcmd")  # built-in models with an adapter


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    return write_glove(tmp_path / "glove.txt", WORDS)


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    file = tmp_path / "counts.tsv"
    file.write_text("w0\t90\nw1\t10\n")
    return file


def test_one_list_holds_models_of_every_kind(tmp_path: Path, glove: Path, counts: Path) -> None:
    small = make_small(tmp_path / "small")
    served = read_served(
        f"minilm, mx=minilm?pooling=max ,small={small},g={glove},sif={glove}?weighting=sif&frequencies={counts}"
    )
    assert list(served) == ["minilm", "mx", "small", "g", "sif"]
    assert [files.pooling for files in served.values()] == ["mean", "max", "mean", "mean", "mean"]
    assert [files.location for files in served.values()][2:] == [small, glove, glove]
    assert [files.needs_device for files in served.values()] == [True, True, True, False, False]
    assert len({files.space for files in served.values()}) == 5


def test_a_built_in_model_keeps_its_space() -> None:
    """Stored collections refer to it; an option equal to its setting changes nothing."""
    minilm = "ae6745a806481ae65e41523db5688f7113b52bec8bdd3c89cbb0b8a7a14a7ea0"
    assert read_source("minilm").space == read_source("minilm?pooling=mean").space == minilm
    assert read_served("minilm")["minilm"].space == minilm
    assert read_source("minilm-graded").space == "d4d1adefbae0f2bf5900e5cdeff827ff09db739bf75610c2a60a2a6fa5ba4a73"
    assert read_source("minilm-words").space == "19f771d835a9f6b7920398b11888b308e28c894c3670964e85a85d20eefad68f"
    assert read_source("minilm-clrcmd").space == "0a5d28c7956c6ddb0e5f1cd4fc314fecc49e5bb1e7352e84dbe94e8deb867fe3"


def test_the_default_models_are_the_tuned_ones_and_their_base() -> None:
    """The first is the default, and former defaults are still served."""
    served = read_served(Settings().models)
    assert list(served) == ["minilm-graded", "minilm-words", "minilm-clrcmd", "minilm"]
    plain = served["minilm"]
    for each in served.values():
        assert (each.location, each.pooling, each.max_tokens) == (plain.location, plain.pooling, plain.max_tokens)


@pytest.mark.parametrize("model", ADAPTED)
def test_a_built_in_adapter_equals_the_base_with_that_option(model: str) -> None:
    folder = PROJECT / "service" / "adapters" / model.replace("-", "_")
    tuned = read_source(model).space
    assert read_source(f"minilm?adapter={folder}").space == tuned
    assert len({tuned, read_source(f"{model}?pooling=max").space, read_source("minilm").space}) == 3
    with pytest.raises(BadCheckpoint, match=f"{model} includes an adapter and accepts no other"):
        read_source(f"{model}?adapter={folder}")


@pytest.mark.parametrize("model", ADAPTED)
@pytest.mark.parametrize("pin", ["weights_sha256", "adapter_sha256"])
def test_altered_files_of_a_built_in_model_are_rejected(monkeypatch: pytest.MonkeyPatch, pin: str, model: str) -> None:
    other: Any = {pin: "0" * 64}
    monkeypatch.setitem(cast("dict[str, BuiltIn]", BUILT_IN), model, replace(BUILT_IN[model], **other))
    with pytest.raises(BadCheckpoint, match="damaged or was replaced"):
        read_source(model)


def test_a_model_that_is_not_installed_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("semblance.service.model_loading.builtin.PACKAGE", "absent_package")
    for model, commands in (
        ("minilm", "run `scripts/install` .* `python assets/fetch.py` and"),
        ("multilingual", "run `scripts/install multilingual` .* `python assets/fetch.py multilingual` and"),
    ):
        with pytest.raises(BadCheckpoint, match=f"{model} is not installed: {commands}"):
            read_source(model)


@pytest.mark.xdist_group("multilingual")
@pytest.mark.usefixtures("multilingual")
def test_an_altered_multilingual_model_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(BUILT_IN["multilingual"], weights_sha256="0" * 64)
    monkeypatch.setitem(cast("dict[str, BuiltIn]", BUILT_IN), "multilingual", other)
    with pytest.raises(BadCheckpoint, match="damaged or was replaced"):
        read_source("multilingual")


def test_a_shipped_adapter_is_small_with_card_and_recipes() -> None:
    for folder in (PROJECT / "service" / "adapters").iterdir():
        recipes = {file.stem for file in folder.glob("*.yaml")}
        pictures = {f"{each.replace('recipe', 'training')}.png" for each in recipes}
        shipped = {CONFIG, WEIGHTS, "README.md", *pictures, *(f"{each}.yaml" for each in recipes)}
        assert {file.name for file in folder.iterdir()} - {TYPICAL} == shipped
        assert (folder / WEIGHTS).stat().st_size <= 3_000_000
        config = json.loads((folder / CONFIG).read_text())
        for each in recipes:
            recipe = read_recipe(RECIPES[each], folder / f"{each}.yaml")
            low_rank = recipe.low_rank
            assert low_rank is not None
            assert config["r"] == (low_rank.saved_rank or low_rank.rank)
            assert config["lora_alpha"] / config["r"] == low_rank.alpha / low_rank.rank
            assert recipe.model == config["base_model_name_or_path"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "minilm?puling=max",
            "no option 'puling': choose one of adapter, layer, max_tokens, pooling, projection, truncate_dim",
        ),
        ("minilm?pooling=sum", "unknown pooling 'sum': choose one of mean, cls, max, words"),
        ("minilm?frequencies=x", "no option 'frequencies'"),
        ("{glove}?pooling=max", "no option 'pooling': choose one of projection, weighting"),
        ("{glove}?adapter={counts}", "no option 'adapter'"),
        ("{glove}?weighting=idf", "there is no 'idf' among the weightings: choose one of sif, uniform"),
        ("{glove}?weighting=sif", "weighting=sif needs frequencies=FILE"),
        ("{glove}?weighting=sif&frequencies={glove}.no", "cannot read"),
        ("{glove}?weighting=sif&frequencies={glove}", "line 1"),
        ("{glove}?weighting=uniform&frequencies={counts}", "no option 'frequencies'"),
        ("{glove}?projection={counts}", "cannot read"),
        ("minilm?pooling=cls&projection={map}", "pools by cls, or changes vectors"),
        ("minilm?pooling=max&weighting=uniform", "pools by max, or changes vectors"),
        ("{glove}?weighting=uniform&projection={map}", "fitted to another model or other options"),
        ("{glove}?", "is not of the form option=value"),
        ("{glove}?weighting", "is not of the form option=value"),
        ("{glove}?weighting=uniform&weighting=sif", "or is repeated"),
        ("{glove}.no", "no such file or folder"),
        ("{counts}", "line 1"),
    ],
)
def test_unknown_options_and_files_are_rejected_by_name(
    tmp_path: Path, glove: Path, counts: Path, source: str, message: str
) -> None:
    counts.write_text("x" * 9 if source == "{counts}" else counts.read_text())
    save_map(Whitening().fit(random_vectors(40).astype(np.float64)), tmp_path / "map", str(glove))
    if "frequencies={glove}" in source and ".no" not in source:
        glove.write_text("w0 1 x\n" * 2)
    with pytest.raises(BadCheckpoint, match=message):
        read_source(source.format(glove=glove, counts=counts, map=tmp_path / "map"))


def test_unknown_names_lead_to_the_built_in_models() -> None:
    for name, message in (
        ("all-MiniLM-L6-v2", "is named 'all-MiniLM-L6-v2'; its weights are built in as minilm$"),
        ("sentence-transformers/all-mpnet-base-v2@main", "semblance pull .*; its weights are built in as mpnet$"),
        ("org/nope", "semblance pull org/nope`$"),
    ):
        with pytest.raises(BadCheckpoint, match=message):
            read_source(name)
    with pytest.raises(BadCheckpoint, match=r"SEMBLANCE_MODELS: 'all-MiniLM-L6-v2' is .* are built in as minilm$"):
        read_served("all-MiniLM-L6-v2")


def test_paths_have_the_name_of_their_last_part(small: Path, tmp_path: Path) -> None:
    folder = tmp_path / "Mine-v1.5"
    folder.symlink_to(small, target_is_directory=True)
    assert list(read_served(f"{folder}?pooling=max,{small}/.")) == ["mine-v1.5", small.name]
    with pytest.raises(BadCheckpoint, match="Model-X"):
        read_served("somebody/Model-X@main")
    for name in ("A b", "mine@2"):
        folder = folder.rename(tmp_path / name)
        with pytest.raises(BadCheckpoint, match=f"the last part of .*{name}' cannot be a name"):
            read_served(str(folder))
    (tmp_path / "a=b").mkdir()
    assert list(read_served(str(folder.rename(tmp_path / "a=b" / "mine")))) == ["mine"]


@pytest.mark.parametrize(
    ("served", "message"),
    [(served, "SEMBLANCE_MODELS") for served in ("nosuch", "=x", "Big=/tmp", "minilm,minilm", "", ",")]
    + [("minilm?pooling=max", "with a new name")],
)
def test_a_malformed_list_of_models_is_rejected(served: str, message: str) -> None:
    with pytest.raises(BadCheckpoint, match=message):
        read_served(served)


@pytest.mark.slow
def test_listing_models_and_serving_on_cpu_do_not_import_torch(tmp_path: Path, glove: Path, counts: Path) -> None:
    program = f"""
import sys
from semblance.models.runtime import Compute
from semblance.service.app import create_app
from semblance.service.errors import NoSuchDevice
from semblance.service.model_loading.registry import read_source
from semblance.service.settings import Settings
read_source("minilm-words")
read_source("{glove}?weighting=sif&frequencies={counts}").load("g", Compute())
create_app(Settings(models="g={glove}", home="{tmp_path}", device="cuda:77"))
assert "torch" not in sys.modules and "transformers" not in sys.modules
create_app(Settings(models="minilm", home="{tmp_path}", device="cpu"))
assert "torch" not in sys.modules and "transformers" not in sys.modules
try:
    create_app(Settings(models="minilm", home="{tmp_path}", device="cuda:77"))
except NoSuchDevice:
    assert "torch" in sys.modules
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def project(*arguments: object) -> tuple[int, str]:
    ran = CliRunner().invoke(app, ["project", *map(str, arguments)], env={"COLUMNS": "300"})
    return ran.exit_code, ran.output


def corpus(file: Path) -> Path:
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 6))) for _ in range(100)]
    lines = [*texts, "", " \u200b ", "nothing known"]
    if file.suffix == ".jsonl":
        lines = [json.dumps({"text": text, "id": i}) for i, text in enumerate(lines)]
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


@pytest.mark.parametrize(
    ("kind", "dims", "suffix"),
    [("whitening", WORD_DIM, ".txt"), ("whitening", 3, ".jsonl"), ("common_component_removal", None, ".txt")],
)
def test_a_projection_is_fitted_saved_and_served(
    tmp_path: Path, glove: Path, counts: Path, kind: str, dims: int | None, suffix: str
) -> None:
    source, out = f"{glove}?weighting=sif&frequencies={counts}", tmp_path / "map"
    fitted = ("--model", f"m={source}", "--projection", kind, "--texts", corpus(tmp_path / f"texts{suffix}"))
    code, output = project(*fitted, "--out", out, *(["--dims", dims] if dims else []))
    assert code == 0, output
    assert f"to {dims or WORD_DIM} dimensions, fitted to 100 texts" in output
    about = read_affine_map(out).metadata
    assert (about["kind"], about["space"], about["texts"]) == (kind, read_source(source).space, "100")
    encoder = load(f"{source}&projection={out}")
    assert encoder.dim == (dims or WORD_DIM)
    lines = corpus(tmp_path / "texts.txt").read_text("utf-8").splitlines()[:100]
    pooled = np.stack([each.pooled() for each in encoder.encode(encoder.tokenize(lines, "query", "END"), "pooled")])
    if kind == "whitening":
        assert np.cov(pooled.T) == pytest.approx(np.eye(encoder.dim), abs=1e-4)
        assert pooled.mean(axis=0) == pytest.approx(np.zeros(encoder.dim), abs=1e-5)
    else:
        assert np.linalg.matrix_rank(pooled, tol=1e-4) == WORD_DIM - 1


def test_a_projection_that_cannot_be_fitted_reports_the_reason(tmp_path: Path, glove: Path) -> None:
    few, broken = tmp_path / "few.txt", tmp_path / "broken.jsonl"
    few.write_text("w0\nw1\n")
    broken.write_text('{"text": "w0"}\n{"txet": "w1"}\n')
    whitening = ("--projection", "whitening", "--out", tmp_path / "map")
    for arguments, message in (
        (("--model", f"m={glove}", "--texts", few, *whitening), "2 texts are too few for 8 dimensions"),
        (("--model", f"m={glove}", "--texts", broken, *whitening), "broken.jsonl, line 2"),
        (("--model", f"m={glove},n={glove}", "--texts", few, *whitening), "name one model, not 2"),
        (("--model", "nosuch", "--texts", few, *whitening), "nosuch"),
        (
            ("--model", f"m={glove}", "--texts", few, "--projection", "rotation", "--out", tmp_path / "map"),
            "no 'rotation' among the projections: choose one of common_component_removal, whitening",
        ),
    ):
        code, output = project(*arguments)
        assert code == 1
        assert message in output
    assert not (tmp_path / "map").exists()


async def test_aliases_name_models_and_measures() -> None:
    loaded: list[str] = []

    def load_model(name: str) -> Any:
        loaded.append(name)
        return name

    aliases = read_aliases("rerank-v3.5=minilm@rcmd1, BAAI/bge-m3 = other ,", ["minilm", "other"])
    served = LazyModels(read_served("minilm,other=minilm?pooling=max"), LazyLoads(load_model, 30), aliases)
    assert served.names == ["minilm", "other", "rerank-v3.5", "BAAI/bge-m3"]
    for name, model, measure in (
        ("rerank-v3.5", "minilm", "rcmd1"),
        ("BAAI/bge-m3", "other", None),
        ("other@cosine", "other", "cosine"),
        ("nosuch", "nosuch", None),
        (None, None, None),
    ):
        assert served.resolve(name) == (model, measure)
    with pytest.raises(UnknownModel, match="minilm, other, rerank"):
        await served.get("minilm@rcmd")
    found: list[Any] = [await served.get(name) for name in ("BAAI/bge-m3", "other", None)]
    assert found == ["other", "other", "minilm"]
    assert sorted(loaded) == ["minilm", "other"]


@pytest.mark.parametrize("fails", [False, True])
async def test_a_load_may_begin_before_the_event_loop(fails: bool) -> None:
    loaded: list[str] = []

    def load_model(name: str) -> Any:
        loaded.append(name)
        if fails:
            raise BadCheckpoint("the weights are damaged")
        return name

    served = LazyModels(read_served("minilm"), LazyLoads(load_model, 30))
    with ThreadPoolExecutor(1) as threads:
        served.begin("minilm", threads)
    assert served.loaded() == {}
    for _ in range(2):
        if fails:
            with pytest.raises(BadCheckpoint, match="damaged"):
                await served.load("minilm")
        else:
            answer: Any = await served.load("minilm")
            assert answer == "minilm"
    assert loaded == ["minilm"]
    assert served.refused == ({"minilm": "the weights are damaged"} if fails else {})


@pytest.mark.parametrize(
    ("fault", "loads"), [(RuntimeError("CUDA out of memory"), 2), (BadCheckpoint("the weights are damaged"), 1)]
)
async def test_only_a_load_that_lacked_memory_is_tried_again(fault: Exception, loads: int) -> None:
    faults: list[Exception] = [fault]
    loaded: list[str] = []

    def load_model(name: str) -> Any:
        loaded.append(name)
        if faults:
            raise faults.pop()
        return name

    served = LazyModels(read_served("minilm"), LazyLoads(load_model, 30))
    with pytest.raises(ModelUnavailable, match="see the log"):
        await served.get(None)
    if loads == 1:
        with pytest.raises(ModelUnavailable):
            await served.get(None)
    else:
        answer: Any = await served.get(None)
        assert answer == "minilm"
    assert len(loaded) == loads
    assert served.refused == ({"minilm": "the weights are damaged"} if loads == 1 else {})


async def test_a_refused_model_leaves_the_others(folder: Path, glove: Path) -> None:
    (folder / "config.json").write_text("{}")
    refused = RefusedModels(fatal=False)
    files = read_served(f"minilm,bad={folder},g={glove}", refused)
    assert list(files) == ["minilm", "g"]
    assert refused.keys() == {"bad"}
    assert str(folder) not in refused["bad"]
    assert read_rerankers(f"worse={folder}", files, refused) == {}
    served = LazyModels(files, LazyLoads(Path, 30), refused=refused)  # type: ignore[arg-type]
    with pytest.raises(ModelUnavailable, match="'bad' is not served"):
        await served.get("bad")
    for listed in (f"minilm,bad={folder}", f"bad={folder},minilm"):
        with pytest.raises(BadCheckpoint):
            read_served(listed, RefusedModels(fatal=listed.startswith("minilm")))
    with pytest.raises(BadCheckpoint, match="listed twice"):
        read_served(f"minilm,bad={folder},bad=minilm?pooling=max", RefusedModels(fatal=False))


def test_the_command_names_refused_models(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    ran = CliRunner().invoke(app, ["models", "--model", "minilm", "--model", f"bad={folder}"])
    assert ran.exit_code == 1
    assert "bad cannot be served: " in ran.output
    assert "no *.safetensors file" in " ".join(ran.output.split())
    assert "minilm" in ran.output


@pytest.mark.parametrize(
    ("listed", "reason"),
    [
        ("a", "needs a new name|names none of the served"),
        ("=minilm", "needs a new name"),
        ("minilm=minilm", "needs a new name"),
        ("a=minilm,a=minilm", "needs a new name"),
        ("a=nosuch", "names none of the served minilm"),
        ("a=nosuch@rcmd", "names none of the served minilm"),
        ("a=minilm@nosuch", "names none of the measures"),
    ],
)
def test_malformed_aliases_are_refused(listed: str, reason: str) -> None:
    with pytest.raises(BadCheckpoint, match=reason):
        read_aliases(listed, ["minilm"])


@pytest.mark.parametrize(
    ("listed", "minilm", "other"),
    [
        ("PASSAGES", "PASSAGES", "PASSAGES"),
        ("END, other=NONE", "END", "NONE"),
        ("other=NONE,START", "START", "NONE"),
        ("other=END", None, "END"),
        ("", None, None),
    ],
)
def test_long_texts_are_treated_by_model(listed: str, minilm: str | None, other: str | None) -> None:
    truncations = read_truncations(listed, ["minilm", "other"])
    assert (truncations.get("minilm"), truncations.get("other")) == (minilm, other)


@pytest.mark.parametrize("listed", ["passages", "minilm", "nosuch=END", "minilm=MIDDLE", "=END="])
def test_malformed_truncations_are_rejected(listed: str) -> None:
    with pytest.raises(BadCheckpoint, match="SEMBLANCE_TRUNCATE"):
        read_truncations(listed, ["minilm", "other"])
