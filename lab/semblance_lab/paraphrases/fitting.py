"""Fit the network to pairs, so that every set and every kind of pair counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from torch.nn import functional

from semblance.models.embeddings import Doubles
from semblance_lab.paraphrases.clues import ClueTable
from semblance_lab.paraphrases.network import ParaphraseNetwork
from semblance_lab.paraphrases.pairs import CONTRAST, GENERATED, NLI, SUGARCREPE, Pair

SHARES: Mapping[str, float] = {**dict.fromkeys(NLI, 1.0), SUGARCREPE: 1.5, CONTRAST: 2.0, GENERATED: 4.0}
"""Set -> its weight, once for the pairs that hold and once for the others."""
OPPOSITES: Mapping[str, float] = dict.fromkeys(("antonym", "other topic", "swap", "synonym and antonym"), 3.0)
"""Kind of generated pairs -> a factor of its weight: opposites stand in equal contexts, and are the hardest to tell."""
READ = 2048  # pairs whose log-odds are computed together

Part: TypeAlias = tuple[str, str, bool]
"""Set, kind, and whether the pairs hold."""
Report: TypeAlias = Callable[[int, int, float], None]
"""Is called after each step with its number, the number of all steps, and the mean loss of its epoch so far."""


@dataclass(frozen=True, slots=True)
class FitSettings:
    """Settings of AdamW with one cycle of the learning rate.

    Attributes:
        epochs: passes over the pairs.
        batch_size: pairs of a step.
        learning_rate: the largest one.
        weight_decay: of matrices; other parameters have none.
        seed: of the first weights and of the order of the pairs.
    """

    epochs: int = 4
    batch_size: int = 1024
    learning_rate: float = 6e-3
    weight_decay: float = 0.1
    seed: int = 0


class Fit(NamedTuple):
    """The network, and the mean loss of each epoch."""

    network: ParaphraseNetwork
    losses: Sequence[float]


def weights_of(pairs: Sequence[Pair]) -> Doubles:
    """(n,) weight of each pair, 1 on average.

    The pairs of a set that hold have its share together, and so have the others; within them, a kind of pairs about
    what is the same counts as the root of its size, and opposites three times that.
    """
    sizes = Counter(map(_part, pairs))
    totals: defaultdict[tuple[str, bool], float] = defaultdict(float)
    for part, size in sizes.items():
        totals[part[0], part[2]] += _share(part, size)
    weights = np.array([_weight(_part(pair), sizes, totals) for pair in pairs])
    scaled: Doubles = weights / weights.mean()
    return scaled


def _part(pair: Pair) -> Part:
    return pair.source, "" if pair.entails else pair.kind, pair.holds


def _weight(part: Part, sizes: Mapping[Part, int], totals: Mapping[tuple[str, bool], float]) -> float:
    source, _, holds = part
    return SHARES[source] * _share(part, sizes[part]) / totals[source, holds] / sizes[part]


def _share(part: Part, size: int) -> float:
    """The share of a kind among the pairs of its set that hold, or do not, before it is scaled."""
    source, kind, _ = part
    return float(np.sqrt(size)) * (OPPOSITES.get(kind, 1.0) if source == GENERATED else 1.0)


def fit(pairs: Sequence[Pair], clues: ClueTable, rows: Sequence[int], settings: FitSettings, report: Report) -> Fit:
    """Train a network; the same settings and pairs give the same bits on the same machine.

    Args:
        pairs: all pairs.
        clues: of them.
        rows: the pairs to train on, one or more.
        settings: of the optimizer.
        report: shows progress.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = ParaphraseNetwork(clues.vectors.shape[1])
    chosen = [pairs[i] for i in rows]
    weights = torch.tensor(weights_of(chosen), dtype=torch.float32)
    holds = torch.tensor([pair.holds for pair in chosen]).float()
    entails = torch.tensor([pair.entails for pair in chosen])
    places, order = torch.tensor(rows), np.random.default_rng(settings.seed)
    size = min(settings.batch_size, len(rows))
    steps = len(rows) // size
    optimizer, schedule = _optimizer(network, settings, steps * settings.epochs)
    losses = []
    for epoch in range(settings.epochs):
        mixed, total = torch.from_numpy(order.permutation(len(rows))), 0.0
        for step in range(steps):
            batch = mixed[step * size : (step + 1) * size]
            same, entailed = network(clues.at(places[batch]))
            log_odds = torch.where(entails[batch], entailed, same)
            loss = functional.binary_cross_entropy_with_logits(log_odds, holds[batch], weights[batch])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            total += float(loss.detach())
            report(epoch * steps + step + 1, steps * settings.epochs, total / (step + 1))
        losses.append(total / steps)
    return Fit(network, losses)


def _optimizer(
    network: ParaphraseNetwork, settings: FitSettings, steps: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    matrices = [each for each in network.parameters() if each.ndim > 1]
    others = [each for each in network.parameters() if each.ndim <= 1]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate)
    return optimizer, torch.optim.lr_scheduler.OneCycleLR(optimizer, settings.learning_rate, total_steps=steps + 1)


@torch.no_grad()
def log_odds_of(network: ParaphraseNetwork, pairs: Sequence[Pair], clues: ClueTable) -> Doubles:
    """(n,) log-odds that each pair holds."""
    parts = []
    for rows in torch.split(torch.arange(len(pairs)), READ):
        same, entailed = network(clues.at(rows))
        entails = torch.tensor([pairs[i].entails for i in rows.tolist()])
        parts.append(torch.where(entails, entailed, same))
    return torch.cat(parts).double().numpy()


def rows_without(pairs: Sequence[Pair], kinds: Collection[str]) -> list[int]:
    """Places of the pairs that are trained on if some kinds of the contrast set are held out."""
    return [i for i, pair in enumerate(pairs) if pair.source != CONTRAST or pair.kind not in kinds]
