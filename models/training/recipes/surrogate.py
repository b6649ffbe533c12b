"""How alike two sentences are, as a slow model scored them."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field, model_validator

from models.evaluation.row_files import Row
from models.training.objective import Objective
from models.training.objectives.cosine_regression import CosineRegression
from models.training.recipe import (
    BatchSize,
    Epochs,
    Label,
    LearningRate,
    Order,
    Pooled,
    Recipe,
    WeightDecay,
)


class Surrogate(Recipe):
    """The surrogate of Origin: a Siamese encoder whose cosine is to be the score that a slow teacher gave the pair.

    Rows are sentence1, sentence2 and score, as `semblance pairs harvest` writes them. A score is learned as it is,
    unless `lowest` and `highest` stretch it: they become the cosines 0 and 1. Mean pooling, and Adam with learning rate
    1e-4 and betas 0.9 and 0.999 are the paper's (AdamW without weight decay is Adam); it does not say batch, epochs or
    warm-up, and had 100 million pairs. Give `dev` the dev set of the harvest, as in [pairs:runs/pairs/dev.tsv], to keep
    the step that agrees best with the teacher. Prefer `sbert_regression` where people graded the pairs.

    Source: sun-etal-2022-origin, section 3.4.
    """

    columns: ClassVar = ("sentence1", "sentence2")

    pooling: Pooled = "mean"
    label: Label = "score"
    lowest: float = Field(0.0, description="Grade of sentences that have nothing in common.")
    highest: float = Field(1.0, description="Grade of sentences that say the same.")
    epochs: Epochs = 4.0
    batch_size: BatchSize = 32
    batches: Order = "by_length"
    learning_rate: LearningRate = 1e-4
    weight_decay: WeightDecay = 0.0

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.lowest >= self.highest:
            raise ValueError("lowest must be below highest")
        return self

    def number(self, row: Row) -> float:
        """The cosine that is wanted, in [-1, 1]."""
        score = row.number(str(self.label))
        wanted = (score - self.lowest) / (self.highest - self.lowest)
        if not -1 <= wanted <= 1:
            least = 2 * self.lowest - self.highest
            raise row.fault(f"{self.label} is {score:g}, not from {least:g} to {self.highest:g}: no cosine can be that")
        return wanted

    def objective(self, dim: int) -> Objective:
        """The mean squared error of the cosine."""
        del dim
        return CosineRegression()
