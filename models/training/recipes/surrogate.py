"""How alike two sentences are, as a slow model scored them."""

from __future__ import annotations

from semblance.models.files.tables import Row
from semblance.models.training.graded_recipe import GradedRecipe
from semblance.models.training.recipe import BatchSize, Epochs, LearningRate, Order, Pooled, WeightDecay


class Surrogate(GradedRecipe):
    """The surrogate of Origin: a Siamese encoder whose cosine is to be the score that a slow teacher gave the pair.

    Rows are sentence1, sentence2 and score, as `semblance pairs harvest` writes them. A score is learned as it is,
    unless `lowest` and `highest` stretch it: they become the cosines 0 and 1. Mean pooling, and Adam with learning rate
    1e-4 and betas 0.9 and 0.999 are the paper's (AdamW without weight decay is Adam); it does not say batch, epochs or
    warm-up, and had 100 million pairs. Give `dev` the dev set of the harvest, as in [pairs:runs/pairs/dev.tsv], to keep
    the step that agrees best with the teacher. Prefer `sbert_regression` where people graded the pairs.

    Source: sun-etal-2022-origin, section 3.4.
    """

    pooling: Pooled = "mean"
    epochs: Epochs = 4.0
    batch_size: BatchSize = 32
    batches: Order = "by_length"
    learning_rate: LearningRate = 1e-4
    weight_decay: WeightDecay = 0.0

    def number(self, row: Row) -> float:
        """The cosine that is wanted, in [-1, 1]."""
        score = row.number(str(self.label))
        wanted = self.cosine(score)
        if not -1 <= wanted <= 1:
            least = 2 * self.lowest - self.highest
            raise row.fault(f"{self.label} is {score:g}, not from {least:g} to {self.highest:g}: no cosine can be that")
        return wanted
