"""Classification of premise and hypothesis as entailment, contradiction or neutral."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from semblance.models.files.tables import Row
from semblance_lab.training.recipe import Label, Normalize, Order, Recipe

if TYPE_CHECKING:
    from semblance_lab.training.objective import Objective

UNDECIDED = "-"  # label of SNLI and MNLI for pairs whose annotators disagreed


class SbertNli(Recipe):
    """SBERT's classification objective over (u, v, |u - v|), for natural language inference.

    Rows are premise, hypothesis and label; rows labelled "-" are left out. The pooled vectors are not normalized: with
    unit vectors the classifier's gradients are too small to train the encoder. Defaults of the paper: one epoch, batch
    16, learning rate 2e-5 with 10 % warm-up, mean pooling. Prefer `clrcmd` for explanations and for triplets.

    Source: reimers-gurevych-2019-sbert, section 3.
    """

    columns: ClassVar = ("premise", "hypothesis")

    label: Label = "label"
    labels: tuple[str, ...] = Field(
        ("contradiction", "entailment", "neutral"), min_length=2, description="The allowed labels."
    )
    normalize: Normalize = False
    batches: Order = "by_length"

    def label_value(self, row: Row) -> int | None:
        """Class number of the label; None for "-"."""
        label = row.text(str(self.label))
        if label == UNDECIDED:
            return None
        if label not in self.labels:
            raise row.error(f"{self.label} is {label!r}, not one of {', '.join(self.labels)}")
        return self.labels.index(label)

    def objective(self, dim: int, texts: Mapping[str, Sequence[str]]) -> Objective:  # noqa: ARG002 - of Recipe
        """Create the classifier with its cross-entropy."""
        from semblance_lab.training.objectives.softmax import Softmax  # noqa: PLC0415 - imports torch

        return Softmax(dim, len(self.labels))
