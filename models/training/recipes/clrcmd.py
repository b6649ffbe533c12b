"""Sentences that follow from another, told from those that contradict it, by matching tokens."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from models.training.objective import Objective
from models.training.objectives import clrcmd
from models.training.recipe import Recipe


class Clrcmd(Recipe):
    """CLRCMD: contrastive learning over pairwise RCMD, with hard negatives.

    Rows are sent0, sent1 (which follows from it) and hard_neg (which contradicts it), as SimCSE makes them of NLI data.
    The defaults are the paper's (batch 128, 3 epochs, learning rate 5e-5 falling from the first step, no weight decay,
    32 tokens, STS-B dev by RCMD every 250 steps), but for the 16-bit passes on a CPU. Prefer `sbert_nli` where labels
    are to be had for neutral pairs as well, and pooled vectors are all that is compared.

    Source: lee-etal-2022-clrcmd, section 4 and its code.
    """

    columns: ClassVar = ("sent0", "sent1", "hard_neg")

    batch_size: int = Field(128, ge=2, description="Rows a step: each positive and hard negative counts for all.")
    epochs: float = Field(3.0, gt=0, description="How often every row is seen.")
    learning_rate: float = Field(5e-5, gt=0, description="Peak of the learning rate, which then falls to 0 in a line.")
    warmup: float = Field(0.0, ge=0, lt=1, description="Share of the steps in which the learning rate rises to it.")
    weight_decay: float = Field(0.0, ge=0, description="Of AdamW, without biases and norms.")
    max_tokens: int = Field(32, ge=4, description="Tokens a text is cut to in training, special ones included.")
    measure: str = Field("rcmd", description="Measure of the scores on the dev sets.")
    dev: tuple[str, ...] = Field(("stsb_dev",), description="Sets that the best checkpoint is chosen by.")
    check_every: int = Field(250, ge=1, description="Steps between checkpoints, each with a look at the dev sets.")
    temperature: float = Field(0.05, gt=0, description="What similarities are divided by before the softmax.")
    pooled_weight: float = Field(
        0.0, ge=0, description="Weight of the same loss over cosines of pooled vectors, beside that over RCMD."
    )

    def objective(self, dim: int) -> Objective:
        """The contrastive loss."""
        del dim
        return clrcmd.Clrcmd(self.temperature, self.pooled_weight)
