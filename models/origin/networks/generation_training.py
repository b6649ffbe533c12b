"""How the generative models are trained."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from transformers import EncoderDecoderModel

from models.origin.corpus.token_table import TokenTable
from models.origin.networks.fitting import Passes, Plan, Progress, fit
from models.origin.networks.generation import Generation, token_losses
from models.origin.networks.generation_inputs import NARROW, PARTS, Inputs, Numbers, Part, inputs
from models.origin.networks.generation_network import marks_of
from models.origin.networks.reduced_precision import autocast
from models.origin.origin_settings import GenerationSettings

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

    contexts: Numbers
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

    def batches(self, epoch: int) -> list[tuple[Numbers, Numbers]]:
        """The batches of a pass: contexts, and the part of each that is written."""
        rng = np.random.default_rng([self.seed, epoch])
        drawn = rng.permutation(len(self))
        contexts, parts = self.contexts[drawn // len(self.parts)], np.array(self.parts)[drawn % len(self.parts)]
        written = self.lengths[contexts + parts - 1] // NARROW
        every = np.sum([self.lengths[contexts + side] for side in (-1, 0, 1)], axis=0)
        order = np.lexsort((every, written, np.arange(len(self)) // (POOL * self.batch_size)))
        found = [order[start : start + self.batch_size] for start in range(0, len(order), self.batch_size)]
        return [(contexts[found[i]], parts[found[i]]) for i in rng.permutation(len(found))]


class Teacher:
    """The loss of each step of a training.

    Args:
        network: what is trained.
        tokens: of the corpus.
        sentences: what it writes.
        settings: `precision` is read.
    """

    def __init__(
        self,
        network: EncoderDecoderModel,
        tokens: TokenTable,
        sentences: GenerationBatches,
        settings: GenerationSettings,
    ) -> None:
        self.network = network
        self._tokens = tokens
        self._precision = settings.precision
        self._passes = Passes(sentences.batches, sentences.steps)

    def loss(self, step: int) -> Tensor:
        """The mean of -log p over the tokens that are written in a step, end markers included."""
        with autocast(self.network.device.type, self._precision):
            return token_losses(self.network, self._inputs(*self._passes.batch(step))).mean()

    def _inputs(self, contexts: Numbers, parts: Numbers) -> Inputs:
        left, centre, right = (self._tokens.rows(contexts + side) for side in (-1, 0, 1))
        return inputs(list(zip(left, centre, right, strict=True)), parts.tolist(), marks_of(self.network))


def train_generation(teacher: Teacher, plan: Plan, report: Callable[[Progress], None]) -> None:
    """Train the network of a teacher by maximum likelihood.

    Raises:
        TrainingDiverged, CheckpointNotSaved, BadOrigin: as `fit`.
    """
    fit(teacher.network, teacher.loss, plan, report)


def perplexities(generation: Generation, contexts: Numbers, tokens: TokenTable) -> Mapping[Part, float]:
    """Of each part of these contexts."""
    left, centre, right = (tokens.rows(contexts + side) for side in (-1, 0, 1))
    return {part: generation.perplexity(part, left, centre, right) for part in PARTS}
