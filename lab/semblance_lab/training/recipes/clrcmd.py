"""Contrastive training on entailments, with contradictions as hard negatives, by RCMD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from semblance_lab.training.recipe import (
    BatchSize,
    CheckEvery,
    Dev,
    Epochs,
    LearningRate,
    MaxTokens,
    Measure,
    Recipe,
    Warmup,
    WeightDecay,
)

if TYPE_CHECKING:
    from semblance_lab.training.objective import Objective


class Clrcmd(Recipe):
    """CLRCMD: contrastive learning over pairwise RCMD, with hard negatives.

    Rows are sent0, sent1 (entailed by it) and hard_neg (contradicts it), as SimCSE derives them from NLI data. The
    defaults are the paper's (batch 128, 3 epochs, learning rate 5e-5 without warm-up, no weight decay, 32 tokens, STS-B
    dev by RCMD every 250 steps), except that no affine head is added, and that a CPU computes in float32. Prefer
    `sbert_nli` if neutral pairs are labelled too, and only pooled vectors are compared.

    Source: lee-etal-2022-clrcmd, section 4 and its code.
    """

    columns: ClassVar = ("sent0", "sent1", "hard_neg")
    min_columns: ClassVar = 2  # without hard negatives, the positives of the other rows still serve as negatives

    batch_size: BatchSize = 128
    epochs: Epochs = 3.0
    learning_rate: LearningRate = 5e-5
    warmup: Warmup = 0.0
    weight_decay: WeightDecay = 0.0
    max_tokens: MaxTokens = 32
    measure: Measure = "rcmd"
    dev: Dev = ("stsb_dev",)
    check_every: CheckEvery = 250
    temperature: float = Field(0.05, gt=0, description="Divisor of the similarities before the softmax.")
    pooled_weight: float = Field(
        0.0, ge=0, description="Weight of the same loss over cosines of pooled vectors, added to that over RCMD."
    )

    def objective(self, dim: int, texts: Mapping[str, Sequence[str]]) -> Objective:  # noqa: ARG002 - of Recipe
        """Create the contrastive loss."""
        from semblance_lab.training.objectives import clrcmd  # noqa: PLC0415 - imports torch

        return clrcmd.Clrcmd(self.temperature, self.pooled_weight)
