"""Whether a sentence follows from another, contradicts it, or neither."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from semblance.models.files.tables import Row
from semblance.models.training.objective import Objective
from semblance.models.training.objectives.softmax import Softmax
from semblance.models.training.recipe import Label, Normalize, Order, Recipe

UNDECIDED = "-"  # what SNLI and MNLI write where the annotators did not agree


class SbertNli(Recipe):
    """SBERT's classification objective over (u, v, |u - v|), for natural language inference.

    Rows are premise, hypothesis and label; a label of "-" leaves the row out. The pooled vectors are not normalised:
    a classifier of unit vectors learns too slowly to move the encoder. Defaults of the paper: one epoch, batch 16,
    learning rate 2e-5 with 10 % warm-up, mean pooling. Prefer `clrcmd` for explanations and where there are triplets.

    Source: reimers-gurevych-2019-sbert, section 3.
    """

    columns: ClassVar = ("premise", "hypothesis")

    label: Label = "label"
    labels: tuple[str, ...] = Field(
        ("contradiction", "entailment", "neutral"), min_length=2, description="What a label may be."
    )
    normalize: Normalize = False
    batches: Order = "by_length"

    def number(self, row: Row) -> int | None:
        """The number of the label; None for "-"."""
        given = row.text(str(self.label))
        if given == UNDECIDED:
            return None
        if given not in self.labels:
            raise row.fault(f"{self.label} is {given!r}, not one of {', '.join(self.labels)}")
        return self.labels.index(given)

    def objective(self, dim: int) -> Objective:
        """The classifier and its cross-entropy."""
        return Softmax(dim, len(self.labels))
