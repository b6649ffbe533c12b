"""Train the coherence and the generative models, and measure them on held-out documents."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from transformers import EncoderDecoderModel

from semblance.models.embeddings import Integers
from semblance.models.judgments.bootstrap import bca
from semblance_lab.origin.corpus.corpus import Corpus
from semblance_lab.origin.corpus.tokens import TokenTable
from semblance_lab.origin.networks.coherence import Coherence
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
from semblance_lab.origin.origin_settings import CoherenceSettings
from semblance_lab.origin.scoring.scoring import CONTEXT_PARTS, ContextPart

NegativeKind: TypeAlias = Literal["same document", "anywhere", "both"]

STRETCH = 16  # consecutive contexts in a batch
FEW_DOCUMENTS = 10  # below this, intervals are over contexts, not documents
BATCH = 512  # sentences per forward pass
MAX_TESTED = 20_000  # contexts
CHANCE = 0.5
DRAWS = 20  # attempts to draw a negative


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Share of right decisions on held-out contexts, half of them with a replaced sentence.

    Attributes:
        estimate, low, high: the share, with its BCa interval over documents (over contexts if documents are few).
        contexts: number of tested ones.
    """

    estimate: float
    low: float
    high: float
    contexts: int


@dataclass(frozen=True, slots=True)
class CoherenceBatches:
    """Contexts of a corpus in stretches of consecutive ones, shuffled every epoch."""

    contexts: Integers
    document: NDArray[np.int32]
    stretches: int
    seed: int

    @property
    def steps(self) -> int:
        """Batches per epoch."""
        return math.ceil(math.ceil(len(self.contexts) / STRETCH) / self.stretches)

    def batches(self, epoch: int) -> list[Integers]:
        """Batches of an epoch: contexts, ascending in each.

        If a document has two stretches or more, a batch holds two of them, so that the negatives of the same document
        are near and far sentences.
        """
        rng = np.random.default_rng([self.seed, epoch])
        firsts = np.arange(0, len(self.contexts), STRETCH)
        shuffled = rng.permutation(firsts)
        shuffled = shuffled[np.argsort(self.document[self.contexts[shuffled]], kind="stable")]
        pairs = [shuffled[at : at + 2] for at in range(0, len(shuffled), 2)]
        order = np.concatenate([pairs[at] for at in rng.permutation(len(pairs))])
        parts = [np.sort(order[at : at + self.stretches]) for at in range(0, len(order), self.stretches)]
        return [np.concatenate([self.contexts[at : at + STRETCH] for at in part]) for part in parts]


def train_coherence(
    corpus: Corpus,
    tokens: TokenTable,
    network: Coherence,
    plan: TrainingPlan,
    report: Callable[[StepProgress], None],
) -> None:
    """Train by logistic regression: real contexts against contexts with a replaced centre.

    Negatives are the centres of the other contexts of a batch. Those of the same document have half of the negatives'
    weight and those of other documents the other half, as in the paper; all together weigh as much as the real
    contexts. Sentences that are the centre of no context are not used as negatives, or the model would learn to
    recognize them; nor are the two neighbours. Each sentence of a batch passes through the LSTM once.

    Raises:
        TrainingDiverged, CheckpointNotSaved, BadOrigin: as `fit`.
    """
    device = next(network.parameters()).device
    order = batch_order(corpus, network.settings)
    batch_of = step_batches(order.batches, order.steps)

    def loss(step: int) -> Tensor:
        contexts = batch_of(step)
        numbers = np.unique(np.concatenate([contexts - 1, contexts, contexts + 1]))
        with autocast(device.type):
            vectors = network.vectors(tokens.rows(numbers)).float()
        places = (torch.from_numpy(np.searchsorted(numbers, contexts + side)).to(device) for side in (-1, 0, 1))
        far = np.abs(contexts - contexts[:, None]) > 1
        same = corpus.document[contexts] == corpus.document[contexts][:, None]
        kinds = [torch.from_numpy(kind).to(device) for kind in (far & same, ~same)]
        return _loss(_logits(network, *(vectors[place] for place in places)), kinds)

    fit(network, loss, plan, report)


def batch_order(corpus: Corpus, settings: CoherenceSettings) -> CoherenceBatches:
    """Create the batches of a corpus's contexts."""
    return CoherenceBatches(corpus.contexts(), corpus.document, max(1, settings.batch_size // STRETCH), settings.seed)


def _logits(network: Coherence, left: Tensor, center: Tensor, right: Tensor) -> Tensor:
    """(contexts, contexts) log-odds of every centre, by column, in every context."""
    (left_keys, left_offsets), (right_keys, right_offsets) = network.of_side(left, 0), network.of_side(right, 1)
    queries, center_offsets = network.of_center(center)
    keys = torch.cat([left_keys, right_keys], dim=1)
    return keys @ queries.T + (left_offsets + right_offsets)[:, None] + center_offsets


def _loss(logits: Tensor, kinds: list[Tensor]) -> Tensor:
    """Mean loss: half of the real contexts, on the diagonal; the kinds of negatives share half."""
    real = functional.softplus(-logits.diagonal())
    negative = functional.softplus(logits)
    counts = torch.stack([kind.sum(dim=1) for kind in kinds])
    means = torch.stack([(negative * kind).sum(dim=1) for kind in kinds]) / counts.clamp(min=1)
    return (real.mean() + (means.sum(dim=0) / (counts > 0).sum(dim=0).clamp(min=1)).mean()) / 2


def held_out_accuracies(
    network: Coherence, corpus: Corpus, tokens: TokenTable, seed: int
) -> Mapping[NegativeKind, Accuracy]:
    """Share of p(y=1) on the right side of 1/2, for as many real contexts as negatives.

    A negative has the centre of another random context, of the same document or of any, but none of its own three
    sentences. `both` is the mean of the two, if both can be drawn. A kind that can be drawn nowhere is left out.
    """
    rng = np.random.default_rng([seed, 1])
    centers = corpus.contexts()
    tested = rng.choice(centers, min(len(centers), MAX_TESTED), replace=False)
    vectors = sentence_vectors(network, tokens)
    shares: dict[NegativeKind, NDArray[np.float64]] = {}
    groups: dict[NegativeKind, NDArray[np.int32]] = {"same document": corpus.document, "anywhere": 0 * corpus.document}
    for kind, group in groups.items():
        shares[kind] = _correct_shares(network, vectors, tested, _draw_negatives(tested, centers, group, rng))
    shares["both"] = (shares["same document"] + shares["anywhere"]) / 2  # nan where either is
    accuracies: dict[NegativeKind, Accuracy] = {}
    for kind, share in shares.items():
        if (drawn := ~np.isnan(share)).any():
            accuracies[kind] = _accuracy(share[drawn], corpus.document[tested[drawn]])
    return accuracies


def sentence_vectors(network: Coherence, tokens: TokenTable) -> Tensor:
    """(n, 2h) vectors of all sentences."""
    with torch.inference_mode():
        parts = [
            network.vectors(tokens.rows(range(start, min(start + BATCH, len(tokens)))))
            for start in range(0, len(tokens), BATCH)
        ]
    return torch.cat(parts)


def _draw_negatives(
    tested: Integers, centers: Integers, group: NDArray[np.int32], rng: np.random.Generator
) -> Integers:
    """The centre of another random context of each one's group; -1 if only neighbours are found."""
    groups = group[centers]
    starts, ends = (np.searchsorted(groups, group[tested], side) for side in ("left", "right"))
    negatives = np.full(len(tested), -1, np.int64)
    for _ in range(DRAWS):
        drawn = centers[rng.integers(starts, ends)]
        negatives = np.where((negatives < 0) & (np.abs(drawn - tested) > 1), drawn, negatives)
    return negatives


def _correct_shares(
    network: Coherence, vectors: Tensor, contexts: Integers, negatives: Integers
) -> NDArray[np.float64]:
    """(contexts,) share of right decisions out of two; nan without a negative."""
    at = torch.from_numpy(contexts).to(vectors.device)
    replaced = torch.from_numpy(negatives).to(vectors.device)
    with torch.inference_mode():
        real, wrong = (network.logits(vectors[at - 1], vectors[each], vectors[at + 1]) for each in (at, replaced))
    shares = ((real > 0).double() + (wrong <= 0).double()).cpu().numpy() / 2
    return np.where(negatives < 0, np.nan, shares)


def _accuracy(shares: NDArray[np.float64], document: NDArray[np.int32]) -> Accuracy:
    names, group = np.unique(document, return_inverse=True)
    if len(names) < FEW_DOCUMENTS:
        group = np.arange(len(shares))
    sums, sizes = np.bincount(group, shares), np.bincount(group)
    interval = bca(lambda counts: (counts @ sums) / np.maximum(counts @ sizes, 1), len(sizes))
    return Accuracy(interval.estimate, interval.low, interval.high, len(shares))


def better_than_chance(accuracies: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether the interval of any accuracy, as in `origin.json`, lies above 1/2."""
    return any(accuracy["low"] > CHANCE for accuracy in accuracies.values())


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
