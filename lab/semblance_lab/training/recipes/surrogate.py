"""Regression on similarities that a slow model scored."""

from __future__ import annotations

from semblance.models.files.tables import Row
from semblance_lab.training.recipe import BatchSize, Epochs, GradedRecipe, LearningRate, Order, Pooled, WeightDecay


class Surrogate(GradedRecipe):
    """Origin's surrogate: a Siamese encoder whose cosines reproduce a slow teacher's scores.

    Rows are sentence1, sentence2 and score, as `semblance pairs harvest` writes them. Scores are the target cosines,
    unless `lowest` and `highest` rescale them: these become the cosines 0 and 1. Mean pooling, and Adam with learning
    rate 1e-4 and betas 0.9 and 0.999 are the paper's (AdamW without weight decay is Adam); it does not report batch,
    epochs or warm-up, and had 100 million pairs. Set `dev` to the dev set of the harvest, as in
    [pairs:runs/pairs/dev.tsv], to keep the step that agrees best with the teacher. Prefer `sbert_regression` for pairs
    that people graded.

    Source: sun-etal-2022-origin, section 3.4.
    """

    pooling: Pooled = "mean"
    epochs: Epochs = 4.0
    batch_size: BatchSize = 32
    batches: Order = "by_length"
    learning_rate: LearningRate = 1e-4
    weight_decay: WeightDecay = 0.0

    def label_value(self, row: Row) -> float:
        """Target cosine, in [-1, 1]."""
        score = row.number(str(self.label))
        target = self.cosine(score)
        if not -1 <= target <= 1:
            least = 2 * self.lowest - self.highest
            raise row.error(
                f"{self.label} is {score:g}, not from {least:g} to {self.highest:g}: cosines are in [-1, 1]"
            )
        return target
