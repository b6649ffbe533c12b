"""Affine heads, with sentence-transformers as the oracle."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from semblance.models.encoders.transformer import Transformer
from semblance.models.errors import BadCheckpoint
from semblance.models.model_files.checkpoint import read_checkpoint
from tests.support.model_folders import add_head, save_head, set_pooling
from tests.support.small_model import DIM, edit, make_small

TEXTS = ["A man plays the Guitar.", "Someone is making MUSIC", "Completely unrelated: tax law in 1987"]
OUT = 20


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_small(tmp_path_factory.mktemp("plain") / "model")


@pytest.fixture
def folder(plain: Path, tmp_path: Path) -> Path:
    """A small model with an affine head, as sentence-transformers saves it."""
    folder = shutil.copytree(plain, tmp_path / "model")
    add_head(folder, OUT)
    return folder


@pytest.mark.parametrize("mode", ["mean", "cls", "max"])
def test_vectors_with_a_head_equal_those_of_sentence_transformers(folder: Path, mode: str) -> None:
    set_pooling(folder, mode, OUT)
    encoder, oracle = Transformer("m", read_checkpoint(folder)), SentenceTransformer(str(folder), device="cpu")
    embeddings = encoder.encode(encoder.tokenize(TEXTS, "document", "END"), "tokens")
    assert encoder.dim == OUT
    assert np.stack([each.pooled() for each in embeddings]) == pytest.approx(oracle.encode(TEXTS), abs=1e-5)
    for each, expected in zip(embeddings, oracle.encode(TEXTS, output_value="token_embeddings"), strict=True):
        assert each.vectors == pytest.approx(expected.numpy(), abs=1e-4)


def test_the_space_depends_on_the_weights_of_the_head(folder: Path, plain: Path) -> None:
    spaces = {read_checkpoint(folder).space, read_checkpoint(plain).space}
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
    save_head(folder / "1_Head", DIM + 1, OUT)
    with pytest.raises(BadCheckpoint, match="do not fit"):
        Transformer("m", read_checkpoint(folder))


def test_a_head_without_safetensors_is_rejected(folder: Path) -> None:
    (folder / "1_Head" / "model.safetensors").rename(folder / "1_Head" / "pytorch_model.bin")
    with pytest.raises(BadCheckpoint, match="safetensors"):
        read_checkpoint(folder)
