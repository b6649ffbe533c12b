"""Distillation: the loss equals its formula over the scores of served encoders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import softmax
from scipy.stats import entropy

from semblance.models.measures.cosine import Cosine
from semblance.models.measures.rcmd_words import RcmdWords
from semblance.models.protocols import Encoder, Similarity
from semblance_lab.training.losses.encoded_loss import EncodedLoss
from semblance_lab.training.objectives.distillation import Distillation, _relative
from semblance_lab.training.sentence_model import merge_adapters, special_ids
from tests.lab.training.losses.test_word_and_token_vectors import tuned_model
from tests.support.small_model import load

TEMPERATURE = 0.1
TEXTS = ["the dog runs near the river", "a storm", "the ship waits near the bridge today", "she sold the house"]
TRANSLATIONS = ["der Hund läuft am Fluss", "ein Sturm", "das Schiff wartet heute", "the house is not for sale"]


def similarities(encoder: Encoder, left: Sequence[str], right: Sequence[str], measure: Similarity) -> np.ndarray:
    """(b, b) scores of a served encoder."""
    x, y = (encoder.encode(encoder.tokenize(side, "query", "END"), "tokens") for side in (left, right))
    return np.array([[measure.score(a, b) for b in y] for a in x])


def formula(found: np.ndarray, taught: Sequence[np.ndarray]) -> float:
    """E + 0.2 K of the docstring."""
    apart = ~np.eye(len(TEXTS), dtype=bool)
    target = np.mean([(each - each[apart].mean()) / (1 - each[apart].mean()) for each in taught], axis=0)
    pairs = np.equal.outer(np.arange(4) // 2, np.arange(4) // 2)
    squared = (found - target) ** 2
    distances = np.mean([squared[~apart].mean(), squared[pairs & apart].mean(), squared[~pairs].mean()])
    divergences = [
        entropy(softmax(t / TEMPERATURE), softmax(s / TEMPERATURE))
        for s, t in zip([*found, *found.T], [*target, *target.T], strict=True)
    ]
    return float(distances + 0.2 * np.mean(divergences))


@pytest.mark.parametrize("columns", [[TEXTS], [TEXTS, TRANSLATIONS]])
def test_the_loss_equals_its_formula(columns: list[list[str]], small: Path, tmp_path: Path) -> None:
    model, teachers = tuned_model(small).eval(), [load(small), load("minilm")]
    objective = Distillation(teachers, TEXTS, pooled=3, tokens=2, contrast=0.2, temperature=TEMPERATURE)
    loss = EncodedLoss(model, objective, left_out=special_ids(model))
    batch = [model.preprocess(column) for column in columns]
    found = loss(batch, torch.arange(4)).item()
    merge_adapters(model, None).save_pretrained(str(tmp_path / "trained"), create_model_card=False)
    student = load(f"{tmp_path / 'trained'}?pooling=words")
    expected = sum(
        weight
        * formula(
            similarities(student, columns[0], columns[-1], measure),
            [similarities(teacher, TEXTS, TEXTS, measure) for teacher in teachers],
        )
        for weight, measure in ((3, Cosine()), (2, RcmdWords()))
    )
    assert found == pytest.approx(expected, rel=1e-3)
    assert found > 0.01, "the encoders agree: this test proves nothing"
    order = torch.tensor([2, 0, 3, 1])  # a teacher knows a row by its number, wherever it is in the batch
    moved = [model.preprocess([column[i] for i in order]) for column in columns]
    assert loss(moved, order).item() == pytest.approx(found, rel=1e-4)


def test_only_relative_similarities_are_taught() -> None:
    taught = torch.tensor([[1.0, 0.9, 0.8], [0.9, 1.0, 0.7], [0.8, 0.7, 1.0]])
    expected = torch.tensor([[1.0, 0.5, 0.0], [0.5, 1.0, -0.5], [0.0, -0.5, 1.0]])
    torch.testing.assert_close(_relative(taught), expected)
    torch.testing.assert_close(_relative(0.5 + taught / 2), expected)
    repeated = torch.ones(2, 2)  # a batch of one text
    torch.testing.assert_close(_relative(repeated), repeated)
