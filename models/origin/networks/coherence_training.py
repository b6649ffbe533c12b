"""How the coherence model is trained, and how well it knows order on documents that it was not trained on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from semblance.models.embeddings import Integers
from semblance.models.evaluation.statistics.bootstrap import bca
from semblance.models.origin.corpus.corpus import Corpus
from semblance.models.origin.corpus.token_table import TokenTable
from semblance.models.origin.networks.coherence import Coherence
from semblance.models.origin.networks.loop import Passes, Plan, Progress, fit
from semblance.models.origin.networks.reduced_precision import autocast
from semblance.models.origin.origin_settings import CoherenceSettings

Kind: TypeAlias = Literal["same document", "anywhere", "both"]

STRETCH = 16  # contexts that follow each other in a batch
FEW_DOCUMENTS = 10  # below which intervals are over contexts, not documents
AT_ONCE = 512  # sentences whose vectors are computed at once
MOST_TESTED = 20_000  # contexts
CHANCE = 0.5
DRAWS = 20  # before it is taken that there is nothing to be drawn


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The share of decisions that are right on held-out contexts, real ones and as many with another sentence in them.

    Attributes:
        estimate, low, high: the share, with its BCa interval over documents (over contexts where documents are few).
        contexts: how many were tested.
    """

    estimate: float
    low: float
    high: float
    contexts: int


@dataclass(frozen=True, slots=True)
class CoherenceBatches:
    """The contexts of a corpus in stretches of neighbours, anew for every pass over them."""

    contexts: Integers
    document: NDArray[np.int32]
    stretches: int
    seed: int

    @property
    def steps(self) -> int:
        """Batches of a pass."""
        return math.ceil(math.ceil(len(self.contexts) / STRETCH) / self.stretches)

    def batches(self, epoch: int) -> list[Integers]:
        """The batches of a pass: contexts, ascending in each.

        Two stretches of one document come together wherever it has two, so that the other sentences of its document
        that a sentence is confused with are near and far ones.
        """
        rng = np.random.default_rng([self.seed, epoch])
        firsts = np.arange(0, len(self.contexts), STRETCH)
        drawn = rng.permutation(firsts)
        drawn = drawn[np.argsort(self.document[self.contexts[drawn]], kind="stable")]
        pairs = [drawn[at : at + 2] for at in range(0, len(drawn), 2)]
        order = np.concatenate([pairs[at] for at in rng.permutation(len(pairs))])
        parts = [np.sort(order[at : at + self.stretches]) for at in range(0, len(order), self.stretches)]
        return [np.concatenate([self.contexts[at : at + STRETCH] for at in part]) for part in parts]


def train_coherence(
    corpus: Corpus,
    tokens: TokenTable,
    network: Coherence,
    plan: Plan,
    report: Callable[[Progress], None],
) -> None:
    """Train by logistic regression: real contexts against the same ones with another sentence in the centre.

    The centre of every other context of a batch takes the place of the one in the centre, weighed so that those of the
    same document have half of the weight and those of other ones the other half, as half of the paper's negatives are
    of either kind; all together weigh as much as the real contexts. Sentences without a neighbour, which stand in the
    centre of no context, take no other's place, or they would tell themselves; nor do the two neighbours. Each sentence
    of a batch passes through the LSTM once, whatever it stands for.

    Raises:
        TrainingDiverged, CheckpointNotSaved, BadOrigin: as `fit`.
    """
    device = next(network.parameters()).device
    order = order_of(corpus, network.settings)
    passes = Passes(order.batches, order.steps)

    def loss(step: int) -> Tensor:
        contexts = passes.batch(step)
        numbers = np.unique(np.concatenate([contexts - 1, contexts, contexts + 1]))
        with autocast(device.type):
            vectors = network.vectors(tokens.rows(numbers)).float()
        places = (torch.from_numpy(np.searchsorted(numbers, contexts + side)).to(device) for side in (-1, 0, 1))
        far = np.abs(contexts - contexts[:, None]) > 1
        same = corpus.document[contexts] == corpus.document[contexts][:, None]
        kinds = [torch.from_numpy(kind).to(device) for kind in (far & same, ~same)]
        return _loss(_logits(network, *(vectors[each] for each in places)), kinds)

    fit(network, loss, plan, report)


def order_of(corpus: Corpus, settings: CoherenceSettings) -> CoherenceBatches:
    """The order in which the contexts of a corpus are seen."""
    return CoherenceBatches(corpus.contexts(), corpus.document, max(1, settings.batch_size // STRETCH), settings.seed)


def _logits(network: Coherence, left: Tensor, centre: Tensor, right: Tensor) -> Tensor:
    """(contexts, contexts) log-odds of every centre, by column, in every context."""
    keys = torch.cat([network.left_keys(left), network.right_keys(right)], dim=1)
    offsets = network.left_offsets(left) + network.right_offsets(right)
    return keys @ network.queries(centre).T + offsets[:, None] + network.centre_offsets(centre)


def _loss(logits: Tensor, kinds: list[Tensor]) -> Tensor:
    """Half of it is of the real contexts, on the diagonal; each kind of wrong ones has the same weight in the rest."""
    real = functional.softplus(-logits.diagonal())
    wrong = functional.softplus(logits)
    counts = torch.stack([kind.sum(dim=1) for kind in kinds])
    means = torch.stack([(wrong * kind).sum(dim=1) for kind in kinds]) / counts.clamp(min=1)
    return (real.mean() + (means.sum(dim=0) / (counts > 0).sum(dim=0).clamp(min=1)).mean()) / 2


def held_out_accuracies(network: Coherence, corpus: Corpus, tokens: TokenTable, seed: int) -> Mapping[Kind, Accuracy]:
    """How often p(y=1) lies on the right side of 1/2, for real contexts and for as many wrong ones of each kind.

    In a wrong one stands the centre of another context of the same document, or of anywhere, drawn at random, but none
    of its own three sentences. `both` is the mean of the two, where both can be drawn. A kind that cannot be drawn
    anywhere is left out.
    """
    rng = np.random.default_rng([seed, 1])
    centres = corpus.contexts()
    tested = rng.choice(centres, min(len(centres), MOST_TESTED), replace=False)
    vectors = sentence_vectors(network, tokens)
    right: dict[Kind, NDArray[np.float64]] = {}
    groups: dict[Kind, NDArray[np.int32]] = {"same document": corpus.document, "anywhere": 0 * corpus.document}
    for kind, group in groups.items():
        right[kind] = _right(network, vectors, tested, _others(tested, centres, group, rng))
    right["both"] = (right["same document"] + right["anywhere"]) / 2  # nan where either is
    found: dict[Kind, Accuracy] = {}
    for kind, shares in right.items():
        if (there := ~np.isnan(shares)).any():
            found[kind] = _accuracy(shares[there], corpus.document[tested[there]])
    return found


def sentence_vectors(network: Coherence, tokens: TokenTable) -> Tensor:
    """(n, 2h) of all sentences."""
    with torch.inference_mode():
        parts = [
            network.vectors(tokens.rows(range(start, min(start + AT_ONCE, len(tokens)))))
            for start in range(0, len(tokens), AT_ONCE)
        ]
    return torch.cat(parts)


def _others(tested: Integers, centres: Integers, group: NDArray[np.int32], rng: np.random.Generator) -> Integers:
    """For each context the centre of another one of its group, at random; -1 where none but its neighbours is found."""
    of_group = group[centres]
    starts, ends = (np.searchsorted(of_group, group[tested], side) for side in ("left", "right"))
    found = np.full(len(tested), -1, np.int64)
    for _ in range(DRAWS):
        drawn = centres[rng.integers(starts, ends)]
        found = np.where((found < 0) & (np.abs(drawn - tested) > 1), drawn, found)
    return found


def _right(network: Coherence, vectors: Tensor, contexts: Integers, others: Integers) -> NDArray[np.float64]:
    """(contexts,) the share of the two decisions that is right; nan without another sentence."""
    at = torch.from_numpy(contexts).to(vectors.device)
    put = torch.from_numpy(others).to(vectors.device)
    with torch.inference_mode():
        real, wrong = (network.logits(vectors[at - 1], vectors[each], vectors[at + 1]) for each in (at, put))
    shares = ((real > 0).double() + (wrong <= 0).double()).cpu().numpy() / 2
    return np.where(others < 0, np.nan, shares)


def _accuracy(right: NDArray[np.float64], document: NDArray[np.int32]) -> Accuracy:
    names, group = np.unique(document, return_inverse=True)
    if len(names) < FEW_DOCUMENTS:
        group = np.arange(len(right))
    sums, sizes = np.bincount(group, right), np.bincount(group)
    interval = bca(lambda counts: (counts @ sums) / np.maximum(counts @ sizes, 1), len(sizes))
    return Accuracy(interval.estimate, interval.low, interval.high, len(right))


def knows_order(accuracies: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether any of these accuracies, as `as_json` writes them, is better than chance: its interval lies above 1/2."""
    return any(each["low"] > CHANCE for each in accuracies.values())


def as_json(accuracies: Mapping[Kind, Accuracy]) -> dict[str, Any]:
    """For `origin.json`."""
    return {kind: asdict(each) for kind, each in accuracies.items()}
