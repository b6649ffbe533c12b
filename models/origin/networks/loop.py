"""The loop in which both kinds of networks are trained: AdamW, with checkpoints from which a killed run goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError  # nosec B403 # only the error that torch.load raises
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from semblance.models.files.atomic import partial, publish
from semblance.models.origin.errors import BadOrigin
from semblance.models.training.errors import CheckpointNotSaved, TrainingDiverged

T = TypeVar("T")

WARM_UP = 0.05  # share of the steps in which the learning rate rises
MOST_NORM = 1.0  # of the gradients of a step
CHECK_EVERY = 200  # steps between checkpoints: about a minute


@dataclass(frozen=True, slots=True)
class Plan:
    """How a network is trained.

    Attributes:
        steps: how many.
        learning_rate: the highest one. It rises to it in a line over the first steps, and falls to 0 in another.
        made_of: digest of all that decides what comes of it; a checkpoint of something else is not gone on from.
        checkpoint: the file that a run goes on from.
        check_every: steps between two checkpoints.
    """

    steps: int
    learning_rate: float
    made_of: str
    checkpoint: Path
    check_every: int = CHECK_EVERY

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        rising = max(1, round(WARM_UP * self.steps))
        return self.learning_rate * min((step + 1) / rising, (self.steps - step) / max(1, self.steps - rising + 1))


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a training is, and the loss of its last step."""

    step: int
    steps: int
    loss: float


class Passes(Generic[T]):
    """The batch of every step, of which those of one pass over the data are held.

    Args:
        batches: makes the batches of a pass, by its number.
        steps: how many a pass has.
    """

    def __init__(self, batches: Callable[[int], Sequence[T]], steps: int) -> None:
        self._batches = batches
        self._steps = steps
        self._held: tuple[int, Sequence[T]] = (-1, [])

    def batch(self, step: int) -> T:
        """The batch of a step, counted from 0 over all passes."""
        number, at = divmod(step, self._steps)
        if self._held[0] != number:
            self._held = number, self._batches(number)
        return self._held[1][at]


def fit(network: nn.Module, loss: Callable[[int], Tensor], plan: Plan, report: Callable[[Progress], None]) -> None:
    """Train a network in place; go on from the checkpoint, if there is one of the same training.

    Args:
        network: what is trained.
        loss: of a step, by its number. It draws nothing at random that does not follow from that number, so that a run
            that was killed comes to the same weights as one that was not.
        plan: see `Plan`.
        report: told after every step.

    Raises:
        TrainingDiverged: the loss is no number any more; the last checkpoint is kept.
        CheckpointNotSaved: the disk is full, say.
        BadOrigin: the checkpoint cannot be read.
    """
    optimizer = torch.optim.AdamW(network.parameters(), lr=plan.learning_rate)
    network.train()
    for step in range(_resumed(network, optimizer, plan), plan.steps):
        for group in optimizer.param_groups:
            group["lr"] = plan.rate(step)
        now = loss(step)
        value = float(now.detach())
        if not math.isfinite(value):
            raise TrainingDiverged(
                f"step {step + 1} of {plan.steps}: the loss is {value}; {plan.checkpoint} holds the last good weights, "
                "if it is there. Try a lower learning rate, or float32"
            )
        optimizer.zero_grad()
        now.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), MOST_NORM)
        optimizer.step()
        if (step + 1) % plan.check_every == 0 and step + 1 < plan.steps:
            _save(network, optimizer, plan, step + 1)
        report(Progress(step + 1, plan.steps, value))
    _require_finite(network, plan)
    network.eval()


def _require_finite(network: nn.Module, plan: Plan) -> None:
    if not all(bool(weights.isfinite().all()) for weights in network.parameters()):
        raise TrainingDiverged(f"after step {plan.steps} some weights are no numbers any more: lower the learning rate")


def _save(network: nn.Module, optimizer: torch.optim.Optimizer, plan: Plan, step: int) -> None:
    _require_finite(network, plan)
    aside = partial(plan.checkpoint)
    state = {
        "made_of": plan.made_of,
        "step": step,
        "network": network.state_dict(),
        "optimizer": optimizer.state_dict(),
    }
    try:
        plan.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        torch.save(state, aside)
        publish(aside, plan.checkpoint)
    except (OSError, RuntimeError) as error:
        raise CheckpointNotSaved(f"{plan.checkpoint} could not be written: {error}") from error


def _resumed(network: nn.Module, optimizer: torch.optim.Optimizer, plan: Plan) -> int:
    """The step to begin with, once what was saved is in its place."""
    if not plan.checkpoint.exists():
        return 0
    try:
        state: dict[str, Any] = torch.load(plan.checkpoint, map_location="cpu", weights_only=True)
        if state["made_of"] != plan.made_of:
            return 0
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
    except (OSError, EOFError, UnpicklingError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise BadOrigin(f"the checkpoint {plan.checkpoint} cannot be read, remove it: {error}") from error
    return int(state["step"])
