"""Regression on similarities that people graded."""

from __future__ import annotations

from pydantic import Field

from semblance.models.files.tables import Row
from semblance_lab.training.recipe import Dev, Epochs, GradedRecipe, Order


class SbertRegression(GradedRecipe):
    """SBERT's regression objective: cosines are trained to be the grades, mapped to [0, 1].

    Rows are sentence1, sentence2 and score. Defaults of the paper for STS-B: 4 epochs, batch 16, learning rate 2e-5
    with 10 % warm-up, mean pooling. Prefer `sbert_triplet` if it is only known which of two texts is nearer.

    Source: reimers-gurevych-2019-sbert, section 3.
    """

    highest: float = Field(5.0, description="Grade of equivalent sentences.")
    epochs: Epochs = 4.0
    dev: Dev = ("stsb_dev",)
    batches: Order = "by_length"

    def label_value(self, row: Row) -> float:
        """Grade, mapped to [0, 1]."""
        grade = row.number(str(self.label))
        if not self.lowest <= grade <= self.highest:
            raise row.error(f"{self.label} is {grade:g}, not from {self.lowest:g} to {self.highest:g}")
        return self.cosine(grade)
