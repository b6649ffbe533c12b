"""Modules of sentence-transformers: each gives the vectors of that library."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import nn

from semblance.models.embeddings import Floats, TokenEmbeddings, Want
from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BadCheckpoint, NotExplainable
from semblance.models.explanation import Explanation
from semblance.models.measures.cosine import Cosine
from semblance.models.measures.rcmd import Rcmd
from semblance.models.model_files.checkpoint import read_checkpoint
from semblance.models.runtime import Compute
from semblance.models.text import Role
from tests.support.model_folders import edit_modules
from tests.support.random_modules import MODES, MODULES, Build, dense, norm, saved
from tests.support.small_model import DIM, edit

TOLERANCE = 2e-5
TEXTS = ["A man plays the guitar.", "No.", "Completely unrelated: tax law in 1987, " * 20]
PROMPT = "find this: "


@pytest.fixture(scope="module")
def made(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Returns a folder of MODULES, made once and read-only."""
    parent = tmp_path_factory.mktemp("made")

    @cache
    def made(modules: str) -> Path:
        return saved(small, parent / modules, MODULES[modules])

    return made


def loaded(folder: Path, **compute: Any) -> Transformer:
    return Transformer("m", read_checkpoint(folder), Compute(**compute))


def encode(encoder: Transformer, role: Role = "document", want: Want = "tokens") -> list[TokenEmbeddings]:
    encoded = encoder.encode(encoder.tokenize(TEXTS, role, "END"), want)
    assert {each.pooled().shape for each in encoded} == {(encoder.dim,)}
    assert {each.vectors.shape[1] for each in encoded} == {encoder.dim}
    return encoded


def vectors(encoder: Transformer, role: Role = "document", want: Want = "tokens") -> Floats:
    return np.stack([each.pooled() for each in encode(encoder, role, want)])


def difference(encoder: Transformer, folder: Path, prompt: str | None = None) -> float:
    """Largest difference to the vectors of sentence-transformers."""
    expected = SentenceTransformer(str(folder), device="cpu").encode(TEXTS, prompt_name=prompt)
    return float(np.abs(vectors(encoder, "query" if prompt else "document") - expected).max())


def total(explanation: Explanation) -> float:
    return float(explanation.contribution.sum()) + explanation.special


@pytest.mark.parametrize("modules", MODULES)
def test_vectors_are_those_of_sentence_transformers(made: Callable[[str], Path], modules: str) -> None:
    encoder = loaded(made(modules))
    assert difference(encoder, made(modules)) < TOLERANCE
    assert np.abs(vectors(encoder, want="pooled") - vectors(encoder, want="tokens")).max() < TOLERANCE


@pytest.mark.parametrize("runtime", ["torch", "torch_packed", "openvino"])
@pytest.mark.parametrize("modules", ["several before", "other residual before", "poolings joined", "pooling lasttoken"])
def test_every_runtime_has_the_same_modules(made: Callable[[str], Path], runtime: str, modules: str) -> None:
    assert difference(loaded(made(modules), runtime=runtime), made(modules)) < TOLERANCE


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("included", [True, False])
def test_poolings_leave_prompts_out_if_they_should(folder: Path, tmp_path: Path, mode: str, included: bool) -> None:
    out = saved(folder, tmp_path / "out", lambda: [Pooling(DIM, mode, included)], prompts={"query": PROMPT})
    assert difference(loaded(out), out, "query") < TOLERANCE


@pytest.mark.parametrize("modules", ["pooling mean", "layer norm", "joined and mapped"])
def test_dimensions_are_cut_as_the_folder_says(folder: Path, tmp_path: Path, modules: str) -> None:
    out = saved(folder, tmp_path / "out", MODULES[modules], truncate_dim=7)
    encoder = loaded(out)
    assert difference(encoder, out) < TOLERANCE
    assert encoder.dim == 7
    assert encoder.space != read_checkpoint(out, truncate_dim=6).space
    with pytest.raises(BadCheckpoint, match="truncate_dim=99 of"):
        read_checkpoint(out, truncate_dim=99)


@pytest.mark.parametrize(
    ("build", "explained"),
    [
        (lambda: [Pooling(DIM), dense(DIM, activation=nn.Identity()), Normalize()], True),
        (lambda: [Pooling(DIM, "weightedmean"), Normalize()], True),
        (lambda: [Pooling(DIM, "mean_sqrt_len_tokens"), Normalize()], True),
        (lambda: [Pooling(DIM), dense(DIM), Normalize()], False),
        (lambda: [Pooling(DIM), norm(DIM)], False),
        (lambda: [Pooling(DIM, ("mean", "max"))], False),
    ],
)
def test_parts_of_a_cosine_need_affine_layers(folder: Path, tmp_path: Path, build: Build, explained: bool) -> None:
    a, b, _ = encode(loaded(saved(folder, tmp_path / "out", build, truncate_dim=12)))
    assert total(Rcmd().explain(a, b)) == pytest.approx(Rcmd().score(a, b), abs=1e-6)
    if explained:
        assert total(Cosine().explain(a, b)) == pytest.approx(Cosine().score(a, b), abs=1e-5)
    else:
        with pytest.raises(NotExplainable):
            Cosine().explain(a, b)


def test_modules_and_settings_change_the_space(made: Callable[[str], Path]) -> None:
    spaces = [read_checkpoint(made(each)).space for each in MODULES]
    doubled = {"dropout": 1, "normalized twice": 1}  # the layers of another
    assert len(set(spaces)) >= len(spaces) - len(doubled)


@pytest.mark.parametrize("name", ["cosine", "dot", "euclidean", "manhattan"])
def test_the_comparison_of_a_folder_is_read(folder: Path, name: str) -> None:
    edit(folder / "config_sentence_transformers.json", similarity_fn_name=name)
    assert read_checkpoint(folder).similarity == name
    edit(folder / "config_sentence_transformers.json", similarity_fn_name="maxsim")
    with pytest.raises(BadCheckpoint, match="similarity_fn_name 'maxsim'"):
        read_checkpoint(folder)


@pytest.mark.parametrize(
    ("build", "file", "changes", "message"),
    [
        ("Tanh after", "2_Dense", {"activation_function": "evil.Act"}, "activation_function 'evil.Act'"),
        ("Tanh after", "2_Dense", {"activation_function": "torch.nn.Softplus"}, "choose one of torch.nn: Identity"),
        ("Tanh after", "2_Dense", {"module_input_name": "token_embeddings"}, "must map sentence_embedding"),
        ("Tanh before", "1_Dense", {"module_input_name": "sentence_embedding"}, "must map token_embeddings"),
        ("Tanh after", "3_Normalize", {"module_input_name": "token_embeddings"}, "must map sentence_embedding"),
        ("Tanh after", "2_Dense", {"out_features": 21}, "its shapes are"),
        ("layer norm", "2_LayerNorm", {"dimension": 31}, "its shapes are"),
        ("layer norm", "2_LayerNorm", {"dimension": None}, "must state the dimension"),
        ("pooling mean", "1_Pooling", {"pooling_mode": ["mean", "median"]}, "pools by 'median'"),
        ("pooling mean", "1_Pooling", {"pooling_mode": []}, "pools by 'nothing'"),
    ],
)
def test_other_settings_are_rejected_where_they_are_read(
    folder: Path, tmp_path: Path, build: str, file: str, changes: dict[str, object], message: str
) -> None:
    out = saved(folder, tmp_path / "out", MODULES[build])
    read_checkpoint(out)
    edit(out / file / "config.json", **changes)
    with pytest.raises(BadCheckpoint, match=message):
        read_checkpoint(out)


def test_layers_that_do_not_follow_one_another_are_rejected(folder: Path, tmp_path: Path) -> None:
    out = saved(folder, tmp_path / "out", MODULES["several after"])
    edit_modules(out, lambda modules: modules.pop(2))
    with pytest.raises(BadCheckpoint, match=r"3_Dense maps 40 dimensions, but it gets 32"):
        read_checkpoint(out)
    edit_modules(out, lambda modules: modules.insert(1, {"path": "", "type": "sentence_transformers.models.LSTM"}))
    with pytest.raises(BadCheckpoint, match="a module LSTM before its Pooling"):
        read_checkpoint(out)


def test_numbers_of_a_layer_must_be_finite(folder: Path, tmp_path: Path) -> None:
    out = saved(folder, tmp_path / "out", lambda: [Pooling(DIM), broken(dense(DIM))])
    with pytest.raises(BadCheckpoint, match=r"not finite, in linear\.bias"):
        read_checkpoint(out)


def broken(layer: Dense) -> Dense:
    nn.init.constant_(layer.linear.bias, torch.nan)
    return layer
