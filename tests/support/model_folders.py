"""Changes of a model folder, in the form of sentence-transformers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tests.support.random_networks import random_network
from tests.support.small_model import DIM, edit


def family_folder(family: str, start: Path, folder: Path, **sizes: Any) -> Path:
    """A folder with a random network of a family, and the tokenizer and the modules of another, read as they are."""
    shutil.copytree(start, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    random_network(family, **sizes).save_pretrained(folder)
    edit(folder / "tokenizer_config.json", tokenizer_class="TokenizersBackend")
    edit(folder / "sentence_bert_config.json", max_seq_length=None)
    return folder


def edit_modules(folder: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    file = folder / "modules.json"
    modules = json.loads(file.read_text())
    change(modules)
    file.write_text(json.dumps([each | {"idx": idx, "name": str(idx)} for idx, each in enumerate(modules)]))


def set_pooling(folder: Path, mode: str, dims: int = DIM, **more: object) -> None:
    file = folder / "1_Pooling" / "config.json"
    file.write_text(json.dumps({"embedding_dimension": dims, "pooling_mode": mode} | more))


def save_head(folder: Path, dims_in: int, dims_out: int, *, bias: bool = True) -> None:
    """Save an affine map of token vectors; the same for the same sizes."""
    from sentence_transformers.base.modules import Dense  # takes seconds

    with torch.random.fork_rng():
        torch.manual_seed(1)
        head = Dense(dims_in, dims_out, bias, torch.nn.Identity(), module_input_name="token_embeddings")
    folder.mkdir(exist_ok=True)
    head.save(str(folder))


def add_head(folder: Path, dims: int, *, bias: bool = True) -> None:
    """Insert an affine head between the network and the pooling of a small model."""
    save_head(folder / "1_Head", DIM, dims, bias=bias)
    edit(folder / "1_Pooling" / "config.json", embedding_dimension=dims)
    head = {"path": "1_Head", "type": "sentence_transformers.base.modules.dense.Dense"}
    edit_modules(folder, lambda modules: modules.insert(1, head))
