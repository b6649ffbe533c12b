"""How alike two sentences are, as people graded them."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from models.evaluation.row_files import Row
from models.training.objective import Objective
from models.training.objectives.cosine_regression import CosineRegression
from models.training.recipe import Recipe


class SbertRegression(Recipe):
    """SBERT's regression objective: the cosine of two sentences is to be their grade, brought to [0, 1].

    Rows are sentence1, sentence2 and score. Defaults of the paper for STS-B: 4 epochs, batch 16, learning rate 2e-5
    with 10 % warm-up, mean pooling. Prefer `sbert_triplet` where it is only known which of two is nearer.

    Source: reimers-gurevych-2019-sbert, section 3.
    """

    columns: ClassVar = ("sentence1", "sentence2")

    label: str = Field("score", description="Name of the column with the grade.")
    lowest: float = Field(0.0, description="Grade of sentences that have nothing in common.")
    highest: float = Field(5.0, description="Grade of sentences that say the same.")
    epochs: float = Field(4.0, gt=0, description="How often every row is seen.")
    dev: tuple[str, ...] = Field(("stsb_dev",), description="Sets that the best checkpoint is chosen by.")
    batches: Literal["shuffled", "by_length"] = Field("by_length", description="How rows come together.")

    def number(self, row: Row) -> float:
        """The grade, in [0, 1]."""
        grade = row.number(self.label)
        if not self.lowest <= grade <= self.highest:
            raise row.fault(f"{self.label} is {grade:g}, not from {self.lowest:g} to {self.highest:g}")
        return (grade - self.lowest) / (self.highest - self.lowest)

    def objective(self, dim: int) -> Objective:
        """The mean squared error of the cosine."""
        del dim
        return CosineRegression()
