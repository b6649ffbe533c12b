"""Train the generative models, and measure their perplexity."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from transformers import EncoderDecoderModel

from semblance.models.embeddings import Integers
from semblance_lab.origin.corpus.token_table import TokenTable
from semblance_lab.origin.networks.generation import Generation, token_losses
from semblance_lab.origin.networks.generation_network import LENGTH_BAND, build_inputs, special_ids
from semblance_lab.origin.networks.loop import (
    PrecisionSetting,
    StepProgress,
    TrainingPlan,
    autocast,
    fit,
    step_batches,
)
from semblance_lab.origin.scoring.scoring import CONTEXT_PARTS, ContextPart

MAX_TESTED = 20_000  # contexts
POOL = 64  # batches whose sentences are drawn at random, then sorted by length


@dataclass(frozen=True, slots=True)
class GenerationBatches:
    """Parts of contexts to write, in batches of similar length, shuffled every epoch.

    Attributes:
        contexts: numbers of the sentences in the centre.
        parts: sentence positions that are written of each.
        lengths: number of tokens of every sentence of the corpus.
        batch_size: sentences written per step.
        seed: of the order.
    """

    contexts: Integers
    parts: Sequence[int]
    lengths: NDArray[np.int32]
    batch_size: int
    seed: int

    def __len__(self) -> int:
        return len(self.contexts) * len(self.parts)

    @property
    def steps(self) -> int:
        """Batches per epoch."""
        return math.ceil(len(self) / self.batch_size)

    def batches(self, epoch: int) -> list[tuple[Integers, Integers]]:
        """Batches of an epoch: contexts, and the part of each that is written."""
        rng = np.random.default_rng([self.seed, epoch])
        shuffled = rng.permutation(len(self))
        contexts, parts = self.contexts[shuffled // len(self.parts)], np.array(self.parts)[shuffled % len(self.parts)]
        written = self.lengths[contexts + parts - 1] // LENGTH_BAND
        total = np.sum([self.lengths[contexts + side] for side in (-1, 0, 1)], axis=0)
        order = np.lexsort((total, written, np.arange(len(self)) // (POOL * self.batch_size)))
        batches = [order[start : start + self.batch_size] for start in range(0, len(order), self.batch_size)]
        return [(contexts[batches[i]], parts[batches[i]]) for i in rng.permutation(len(batches))]


def train_generation(
    network: EncoderDecoderModel,
    tokens: TokenTable,
    order: GenerationBatches,
    precision: PrecisionSetting,
    plan: TrainingPlan,
    report: Callable[[StepProgress], None],
) -> None:
    """Train a network by the mean of -log p over all tokens of a step, end markers included.

    Args:
        network: trained in place.
        tokens: of the corpus.
        order: what it writes, in batches.
        precision: number type of the loss.
        plan: steps, learning rate and checkpoints.
        report: progress callback, called after every step.

    Raises:
        TrainingDiverged, CheckpointNotSaved, BadOrigin: as `fit`.
    """
    batch_of, special = step_batches(order.batches, order.steps), special_ids(network)

    def loss(step: int) -> Tensor:
        contexts, parts = batch_of(step)
        left, center, right = (tokens.rows(contexts + side) for side in (-1, 0, 1))
        inputs = build_inputs(list(zip(left, center, right, strict=True)), parts.tolist(), special)
        with autocast(network.device.type, precision):
            return token_losses(network, inputs).mean()

    fit(network, loss, plan, report)


def perplexities(generation: Generation, contexts: Integers, tokens: TokenTable) -> Mapping[ContextPart, float]:
    """Perplexity of each part of these contexts, or of an even sample of them if there are many."""
    contexts = contexts[:: math.ceil(len(contexts) / MAX_TESTED)]
    left, center, right = (tokens.rows(contexts + side) for side in (-1, 0, 1))
    return {part: generation.perplexity(part, left, center, right) for part in CONTEXT_PARTS}
