"""How the generative models are trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from transformers import EncoderDecoderModel

from semblance.models.embeddings import Integers
from semblance.models.origin.context_parts import PARTS, Part
from semblance.models.origin.corpus.token_table import TokenTable
from semblance.models.origin.networks.generation import Generation, token_losses
from semblance.models.origin.networks.generation_inputs import NARROW, inputs
from semblance.models.origin.networks.generation_network import marks_of
from semblance.models.origin.networks.loop import Passes, Plan, Progress, fit
from semblance.models.origin.networks.reduced_precision import Asked, autocast

MOST_TESTED = 20_000  # contexts
POOL = 64  # batches that are drawn at random together, then sorted by length among themselves


@dataclass(frozen=True, slots=True)
class GenerationBatches:
    """What is to be written: parts of contexts, in batches of about one length, anew for every pass over them.

    Attributes:
        contexts: numbers of the sentences in the centre.
        parts: the sentence positions that are written of each.
        lengths: tokens of every sentence of the corpus.
        batch_size: sentences that are written in a step.
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
        """Batches of a pass."""
        return math.ceil(len(self) / self.batch_size)

    def batches(self, epoch: int) -> list[tuple[Integers, Integers]]:
        """The batches of a pass: contexts, and the part of each that is written."""
        rng = np.random.default_rng([self.seed, epoch])
        drawn = rng.permutation(len(self))
        contexts, parts = self.contexts[drawn // len(self.parts)], np.array(self.parts)[drawn % len(self.parts)]
        written = self.lengths[contexts + parts - 1] // NARROW
        every = np.sum([self.lengths[contexts + side] for side in (-1, 0, 1)], axis=0)
        order = np.lexsort((every, written, np.arange(len(self)) // (POOL * self.batch_size)))
        found = [order[start : start + self.batch_size] for start in range(0, len(order), self.batch_size)]
        return [(contexts[found[i]], parts[found[i]]) for i in rng.permutation(len(found))]


def train_generation(
    network: EncoderDecoderModel,
    tokens: TokenTable,
    sentences: GenerationBatches,
    precision: Asked,
    plan: Plan,
    report: Callable[[Progress], None],
) -> None:
    """Train a network by maximum likelihood: the mean of -log p over all tokens that a step writes, end markers too.

    Args:
        network: what is trained.
        tokens: of the corpus.
        sentences: what it writes.
        precision: what the loss is computed in.
        plan: how long, and where checkpoints lie.
        report: told every step.

    Raises:
        TrainingDiverged, CheckpointNotSaved, BadOrigin: as `fit`.
    """
    passes, marks = Passes(sentences.batches, sentences.steps), marks_of(network)

    def loss(step: int) -> Tensor:
        contexts, parts = passes.batch(step)
        left, centre, right = (tokens.rows(contexts + side) for side in (-1, 0, 1))
        written = inputs(list(zip(left, centre, right, strict=True)), parts.tolist(), marks)
        with autocast(network.device.type, precision):
            return token_losses(network, written).mean()

    fit(network, loss, plan, report)


def perplexities(generation: Generation, contexts: Integers, tokens: TokenTable) -> Mapping[Part, float]:
    """Of each part of these contexts; where there are many, of some that are spread over all of them."""
    contexts = contexts[:: math.ceil(len(contexts) / MOST_TESTED)]
    left, centre, right = (tokens.rows(contexts + side) for side in (-1, 0, 1))
    return {part: generation.perplexity(part, left, centre, right) for part in PARTS}
