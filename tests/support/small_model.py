"""Models that load quickly: a small random network, and artificial word vectors."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from semblance.models.adaptation.affine_map import AffineMap
from semblance.models.embeddings import Floats
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import read_source

DIM = 32
WORDS = 30_522  # of its tokenizer
WORD_DIM = 8
BUILT_IN_FOLDER = read_source("minilm").location


def edit(file: Path, **changes: object) -> None:
    """Change entries of a JSON file; create it if missing."""
    config = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(config | changes))


def draw_weights(folder: Path) -> None:
    """Write random weights for the config.json of a folder; the same on every call."""
    from transformers import AutoConfig, AutoModel  # takes seconds

    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = AutoModel.from_config(AutoConfig.from_pretrained(folder, local_files_only=True))  # type: ignore[no-untyped-call]
    network.save_pretrained(folder)


def make_small(folder: Path) -> Path:
    """Copy the built-in model, with a network of two layers and random weights."""
    shutil.copytree(BUILT_IN_FOLDER, folder, ignore=shutil.ignore_patterns("*.safetensors", "*.md"))
    edit(folder / "config.json", hidden_size=DIM, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    edit(folder / "1_Pooling" / "config.json", embedding_dimension=DIM)
    draw_weights(folder)
    return folder


def random_vectors(count: int, dim: int = WORD_DIM) -> Floats:
    """Vectors with a common component, like those of words; exact in a few decimals."""
    vectors: Floats = (np.random.default_rng(7).integers(-64, 64, (count, dim)) / 32 + 0.5).astype(np.float32)
    return vectors


def write_glove(file: Path, words: Sequence[str], vectors: Floats | None = None) -> Path:
    vectors = random_vectors(len(words)) if vectors is None else vectors
    lines = [f"{word} {' '.join(map(str, row.tolist()))}" for word, row in zip(words, vectors, strict=True)]
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


def load(source: object) -> Encoder:
    return read_source(str(source)).load("m", Compute(threads=1))


def save_map(affine_map: AffineMap, file: Path, source: str) -> None:
    AffineMap(affine_map.mean, affine_map.matrix, {"space": read_source(source).space}).save(file)
