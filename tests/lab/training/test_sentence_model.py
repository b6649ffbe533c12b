"""Encoders to train: their adapters, and folders of four bits."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from semblance.models.encoders.transformer import Transformer
from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.model_files.source import Source
from semblance.service.model_loading.registry import source_of
from semblance_lab.training.recipe import LowRank
from semblance_lab.training.recipes.clrcmd import Clrcmd
from semblance_lab.training.sentence_model import build_model


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
