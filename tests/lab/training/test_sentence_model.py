"""Encoders to train: their adapters, and folders of four bits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from peft import LoraConfig
from safetensors.numpy import load_file, save_file

from semblance.models.embeddings import Doubles
from semblance.models.encoders.transformer import Transformer
from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.model_files.lora import WEIGHTS, read_low_rank_adapter
from semblance.models.model_files.source import Source
from semblance.service.model_loading.registry import source_of
from semblance_lab.training.recipe import LowRank
from semblance_lab.training.recipes.clrcmd import Clrcmd
from semblance_lab.training.sentence_model import add_adapters, build_model


@pytest.mark.parametrize(("layers", "adapted"), [(None, {0, 1}), (1, {1}), (5, {0, 1})])
def test_only_the_last_layers_have_adapters(layers: int | None, adapted: set[int], small: Path) -> None:
    model = build_model(read_transformer(Source(small)), Clrcmd(low_rank=LowRank(rank=2, layers=layers)))
    trained = [name for name, weights in model.named_parameters() if weights.requires_grad]
    assert {int(number) for name in trained for number in re.findall(r"layer\.(\d+)\.", name)} == adapted
    assert len(trained) == 2 * 6 * len(adapted)
    assert not any("pooler" in name for name in trained)


@pytest.mark.xdist_group("multilingual")
def test_training_starts_from_the_vectors_of_four_bits(multilingual: Transformer) -> None:
    texts = ["Ein Hund schläft.", "她住在城市里"]
    model = build_model(read_transformer(source_of("multilingual")), Clrcmd())
    served = multilingual.encode(multilingual.tokenize(texts, "query", "NONE"), "pooled")
    vectors = model.encode(texts, prompt_name="query", show_progress_bar=False)
    assert np.abs(vectors - np.stack([each.pooled() for each in served])).max() < 2e-5


MATRICES = {"base_model.model.layer.0.query": (6, 8), "base_model.model.layer.0.dense": (12, 6)}
"""Name -> (out, in)."""


@pytest.mark.parametrize("rank", [6, 2])
def test_a_sum_of_adapters_is_the_nearest_of_its_rank(rank: int, tmp_path: Path) -> None:
    """Beside numpy's singular values of the exact sum."""
    first = random_adapter(tmp_path / "first", rank=3, alpha=6, seed=0)
    second = random_adapter(tmp_path / "second", rank=4, alpha=2, seed=1)
    add_adapters({tmp_path / "first": 1.0, tmp_path / "second": -0.5}, rank, tmp_path / "sum")
    assert read_low_rank_adapter(tmp_path / "sum").scale == 1
    assert LoraConfig.from_pretrained(str(tmp_path / "sum")).base_model_name_or_path == "minilm"
    found = updates(tmp_path / "sum")
    for name in MATRICES:
        u, values, v = np.linalg.svd(first[name] - 0.5 * second[name], full_matrices=False)
        nearest = (u[:, :rank] * values[:rank]) @ v[:rank]
        assert np.abs(found[name] - nearest).max() < 2e-3 * np.abs(nearest).max()


def random_adapter(folder: Path, *, rank: int, alpha: int, seed: int) -> Mapping[str, Doubles]:
    """Save an adapter, and return its updates."""
    random = np.random.default_rng(seed)
    weights = {
        f"{name}.lora_{letter}.weight": random.normal(size=shape).astype(np.float16)
        for name, (rows, columns) in MATRICES.items()
        for letter, shape in (("A", (rank, columns)), ("B", (rows, rank)))
    }
    LoraConfig(r=rank, lora_alpha=alpha, base_model_name_or_path="minilm").save_pretrained(str(folder))
    save_file(weights, folder / WEIGHTS)
    return updates(folder)


def updates(folder: Path) -> Mapping[str, Doubles]:
    """Matrix -> alpha / rank B A."""
    weights = {name: each.astype(np.float64) for name, each in load_file(folder / WEIGHTS).items()}
    scale = read_low_rank_adapter(folder).scale
    return {name: scale * weights[f"{name}.lora_B.weight"] @ weights[f"{name}.lora_A.weight"] for name in MATRICES}
