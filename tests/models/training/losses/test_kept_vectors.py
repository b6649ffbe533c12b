"""The loss of kept vectors equals its formula, computed from two separately saved models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from peft.tuners.lora import LoraLayer
from sentence_transformers import SentenceTransformer

from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.model_files.source import Source
from semblance.models.training.losses.kept_vectors import KeptVectors
from semblance.models.training.recipe import LowRank
from semblance.models.training.recipes.clrcmd import Clrcmd
from semblance.models.training.sentence_model import build_model, merge_adapters
from tests.support.small_model import load

TEXTS = ["the dog runs near the river", "a storm", "the ship waits near the bridge today"]


def tuned_model(small: Path) -> SentenceTransformer:
    """The network with random adapters."""
    torch.manual_seed(0)
    model = build_model(read_transformer(Source(small)), Clrcmd(low_rank=LowRank(rank=4), dropout=0.3))
    for module in model.modules():
        if isinstance(module, LoraLayer):
            for weights in module.lora_B.parameters():
                torch.nn.init.normal_(weights, std=0.2)
    return model.train()


def kept(model: SentenceTransformer, weight: float) -> KeptVectors:
    return KeptVectors(model, TEXTS, weight, batch_size=2, max_tokens=64)


def test_the_loss_equals_its_formula_over_saved_models(small: Path, tmp_path: Path) -> None:
    model = tuned_model(small).eval()
    loss = kept(model, 3.0).of(TEXTS).item()
    merge_adapters(model, 1.0).save_pretrained(str(tmp_path / "tuned"), create_model_card=False)
    before, after = (_token_vectors(each) for each in (small, tmp_path / "tuned"))
    cosines = (before * after).sum(axis=1) / np.linalg.norm(before, axis=1) / np.linalg.norm(after, axis=1)
    assert loss == pytest.approx(3 * (1 - cosines).mean(), rel=1e-3)
    assert loss > 0.01, "the adapters change nothing: this test proves nothing"


def test_the_reference_has_no_dropout_and_no_gradient(small: Path) -> None:
    model = tuned_model(small)
    passes = []
    model.register_forward_hook(lambda module, *_: passes.append((module.training, torch.is_grad_enabled())))
    loss = kept(model, 1.0).of(TEXTS)
    assert passes == [(False, False), (True, True)]
    loss.backward()  # type: ignore[no-untyped-call]
    assert model.training
    for name, weights in model.named_parameters():
        is_adapter = "lora_" in name
        assert weights.requires_grad == is_adapter, name
        assert (weights.grad is not None) == is_adapter, name


def test_a_batch_is_drawn_by_the_generator_of_torch(small: Path) -> None:
    loss = kept(tuned_model(small).eval(), 1.0)
    values = []
    for seed in (0, 0, 1, 2, 3):
        torch.manual_seed(seed)
        values.append(loss().item())
    assert values[0] == values[1]
    assert len(set(values)) > 1


def _token_vectors(folder: Path) -> np.ndarray:
    encoder = load(folder)
    encoded = encoder.encode(encoder.tokenize(TEXTS, "query", "END"), "tokens")
    return np.concatenate([each.vectors for each in encoded])
