"""Affine heads, with sentence-transformers as the oracle."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense

from semblance.models.embeddings import unit_rows
from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BadCheckpoint
from semblance.models.model_files.checkpoint import read_checkpoint
from tests.support.small_model import DIM, edit, make_small

TEXTS = ["A man plays the Guitar.", "Someone is making MUSIC", "Completely unrelated: tax law in 1987"]
OUT = 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small model with an affine head, as sentence-transformers saves it."""
    folder = make_small(tmp_path / "model")
    with torch.random.fork_rng():
        torch.manual_seed(1)
        head = Dense(DIM, OUT, activation_function=torch.nn.Identity(), module_input_name="token_embeddings")
    (folder / "1_Head").mkdir()
    head.save(str(folder / "1_Head"))
    edit(folder / "1_Pooling" / "config.json", embedding_dimension=OUT)
    modules = json.loads((folder / "modules.json").read_text())
    modules.insert(1, {"path": "1_Head", "type": "sentence_transformers.base.modules.dense.Dense"})
    for idx, module in enumerate(modules):
        module |= {"idx": idx, "name": str(idx)}
    (folder / "modules.json").write_text(json.dumps(modules))
    return folder


@pytest.mark.parametrize("mode", ["mean", "cls", "max"])
def test_vectors_with_a_head_equal_those_of_sentence_transformers(folder: Path, mode: str) -> None:
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"embedding_dimension": OUT, "pooling_mode": mode}))
    encoder, oracle = Transformer("m", read_checkpoint(folder)), SentenceTransformer(str(folder), device="cpu")
    embeddings = encoder.encode(encoder.tokenize(TEXTS, "document", "END"), "tokens")
    assert encoder.dim == OUT
    assert np.stack([each.pooled() for each in embeddings]) == pytest.approx(oracle.encode(TEXTS), abs=1e-5)
    for each, expected in zip(embeddings, oracle.encode(TEXTS, output_value="token_embeddings"), strict=True):
        assert each.vectors == pytest.approx(expected.numpy(), abs=1e-4)


def test_the_mean_of_mapped_tokens_is_the_mapped_mean(folder: Path, tmp_path: Path) -> None:
    plain = make_small(tmp_path / "plain")
    head = Dense.load(str(folder / "1_Head"))
    with_head, without = (Transformer("m", read_checkpoint(each)) for each in (folder, plain))
    for a, b in zip(
        *(each.encode(each.tokenize(TEXTS, "query", "END"), "tokens") for each in (with_head, without)), strict=True
    ):
        mean = b.vectors.mean(axis=0)
        mapped = head({"token_embeddings": torch.from_numpy(mean)})["token_embeddings"].detach().numpy()
        assert a.pooled() == pytest.approx(unit_rows(mapped), abs=1e-5)


def test_the_space_depends_on_the_weights_of_the_head(folder: Path, tmp_path: Path) -> None:
    spaces = {read_checkpoint(folder).space, read_checkpoint(make_small(tmp_path / "plain")).space}
    weights = folder / "1_Head" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    assert len(spaces | {read_checkpoint(folder).space}) == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation_function": "torch.nn.modules.activation.Tanh"}, "Tanh"),
        ({"module_input_name": "sentence_embedding"}, "sentence_embedding"),
        ({"module_output_name": "mapped"}, "mapped"),
        ({"use_residual": True}, "use_residual"),
        ({"in_features": None}, "in_features"),
        ({"in_features": 31}, "cannot load"),
        ({"bias": False}, "cannot load"),
    ],
)
def test_unsupported_dense_modules_are_rejected_by_name(folder: Path, changes: dict[str, object], message: str) -> None:
    edit(folder / "1_Head" / "config.json", **changes)
    with pytest.raises(BadCheckpoint, match=message):
        Transformer("m", read_checkpoint(folder))


def test_a_head_of_another_width_than_the_network_is_rejected(folder: Path) -> None:
    head = Dense(DIM + 1, OUT, activation_function=torch.nn.Identity(), module_input_name="token_embeddings")
    head.save(str(folder / "1_Head"))
    with pytest.raises(BadCheckpoint, match="cannot encode"):
        Transformer("m", read_checkpoint(folder))


def test_a_head_without_safetensors_is_rejected(folder: Path) -> None:
    (folder / "1_Head" / "model.safetensors").rename(folder / "1_Head" / "pytorch_model.bin")
    with pytest.raises(BadCheckpoint, match="safetensors"):
        read_checkpoint(folder)
