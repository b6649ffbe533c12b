"""Distillation of stronger encoders, on texts without labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from semblance.service.model_loading.device import load_model
from semblance.service.settings import read_settings
from semblance_lab.training.recipe import BatchSize, LearningRate, Order, Recipe, SpecialTokens

if TYPE_CHECKING:
    from semblance_lab.training.objective import Objective


class Distillation(Recipe):
    """Teachers: an encoder learns the similarities of texts that other encoders find.

    Rows are a text and, in the second column, its translation; `fields: [text]` reads rows without one. The teachers
    read the text, and the encoder both: so one of many languages learns what one of English knows, and that
    translations are the same text. Rows are taken in twos: put the two texts of a pair, or neighbors, below each other.

    Source: the idea of hinton-etal-2015-distillation, section 2; reimers-gurevych-2020-multilingual, section 2.
    """

    columns: ClassVar = ("text", "translation")
    min_columns: ClassVar = 1
    numbered: ClassVar = True

    special_tokens: SpecialTokens = False
    batch_size: BatchSize = 64
    batches: Order = "in_twos"
    learning_rate: LearningRate = 2e-4
    teachers: tuple[str, ...] = Field(("mpnet",), min_length=1, description="Models, as `semblance serve` takes them.")
    pooled: float = Field(1.0, ge=0, description="Weight of the similarities of pooled vectors.")
    tokens: float = Field(1.0, ge=0, description="Weight of those of token vectors, by `rcmd_words`.")
    contrast: float = Field(
        0.1, ge=0, description="Weight of the choice of a text among all others, beside squared distances."
    )
    temperature: float = Field(0.05, gt=0, description="Divisor of the similarities before the softmax of the choice.")

    def objective(self, dim: int, texts: Mapping[str, Sequence[str]]) -> Objective:  # noqa: ARG002 - of Recipe
        """Load the teachers, and create the loss."""
        from semblance_lab.training.objectives import distillation  # noqa: PLC0415 - imports torch

        return distillation.Distillation(
            [load_model(teacher, read_settings()) for teacher in self.teachers],
            texts[self.text_columns()[0]],
            pooled=self.pooled,
            tokens=self.tokens,
            contrast=self.contrast,
            temperature=self.temperature,
        )
