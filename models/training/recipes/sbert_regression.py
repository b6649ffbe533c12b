"""How alike two sentences are, as people graded them."""

from __future__ import annotations

from pydantic import Field

from semblance.models.files.tables import Row
from semblance.models.training.graded_recipe import GradedRecipe
from semblance.models.training.recipe import Dev, Epochs, Order


class SbertRegression(GradedRecipe):
    """SBERT's regression objective: the cosine of two sentences is to be their grade, brought to [0, 1].

    Rows are sentence1, sentence2 and score. Defaults of the paper for STS-B: 4 epochs, batch 16, learning rate 2e-5
    with 10 % warm-up, mean pooling. Prefer `sbert_triplet` where it is only known which of two is nearer.

    Source: reimers-gurevych-2019-sbert, section 3.
    """

    highest: float = Field(5.0, description="Grade of sentences that say the same.")
    epochs: Epochs = 4.0
    dev: Dev = ("stsb_dev",)
    batches: Order = "by_length"

    def number(self, row: Row) -> float:
        """The grade, in [0, 1]."""
        grade = row.number(str(self.label))
        if not self.lowest <= grade <= self.highest:
            raise row.fault(f"{self.label} is {grade:g}, not from {self.lowest:g} to {self.highest:g}")
        return self.cosine(grade)
