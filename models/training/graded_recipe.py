"""What recipes have in common whose rows carry a number that the cosine is to be."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field, model_validator

from semblance.models.training.objective import Objective
from semblance.models.training.objectives.cosine_regression import CosineRegression
from semblance.models.training.recipe import Label, Recipe


class GradedRecipe(Recipe):
    """A recipe that stretches a grade to a cosine, and regresses on it."""

    columns: ClassVar = ("sentence1", "sentence2")

    label: Label = "score"
    lowest: float = Field(0.0, description="Grade of sentences that have nothing in common.")
    highest: float = Field(1.0, description="Grade of sentences that say the same.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.lowest >= self.highest:
            raise ValueError("lowest must be below highest")
        return self

    def cosine(self, grade: float) -> float:
        """The cosine of a grade: 0 at the lowest, 1 at the highest."""
        return (grade - self.lowest) / (self.highest - self.lowest)

    def objective(self, dim: int) -> Objective:
        """The mean squared error of the cosine."""
        del dim
        return CosineRegression()
