"""Training loop (AdamW with checkpoints) and number type of both kinds of networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from pickle import UnpicklingError  # nosec B403 # only the error that torch.load raises
from typing import Any, Literal, TypeAlias, TypeVar

import torch
from torch import Tensor, nn

from semblance.models.files.atomic import partial_path, publish
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.training.errors import CheckpointNotSaved, TrainingDiverged

T = TypeVar("T")

WARM_UP = 0.05  # share of the steps
MAX_GRADIENT_NORM = 1.0  # per step
CHECK_EVERY = 200  # steps between checkpoints: about a minute

Precision: TypeAlias = Literal["float32", "bfloat16"]
PrecisionSetting: TypeAlias = Literal["auto", Precision]


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """Steps, learning rate and checkpoints of a training.

    Attributes:
        steps: total number.
        learning_rate: the peak, after a linear warm-up and before a linear decay to 0.
        provenance: digest of all inputs; a checkpoint of another provenance is ignored.
        checkpoint: file that a run resumes from.
        check_every: steps between two checkpoints.
    """

    steps: int
    learning_rate: float
    provenance: str
    checkpoint: Path
    check_every: int = CHECK_EVERY

    def rate(self, step: int) -> float:
        """Learning rate of a step, counted from 0."""
        rising = max(1, round(WARM_UP * self.steps))
        return self.learning_rate * min((step + 1) / rising, (self.steps - step) / max(1, self.steps - rising + 1))


@dataclass(frozen=True, slots=True)
class StepProgress:
    """Progress of a training, and the loss of its last step."""

    step: int
    steps: int
    loss: float


def step_batches(batches: Callable[[int], Sequence[T]], steps: int) -> Callable[[int], T]:
    """Function from a step, counted from 0 over all epochs, to its batch.

    The batches of the current epoch are in memory.

    Args:
        batches: creates the batches of an epoch, by its number.
        steps: per epoch.
    """
    of_epoch = lru_cache(1)(batches)
    return lambda step: of_epoch(step // steps)[step % steps]


def fit(
    network: nn.Module, loss: Callable[[int], Tensor], plan: TrainingPlan, report: Callable[[StepProgress], None]
) -> None:
    """Train a network in place; resumes from a checkpoint of the same provenance.

    Args:
        network: trained in place.
        loss: of a step, by its number. Its random draws depend on that number only, so that a resumed run ends with the
            same weights as an uninterrupted one.
        plan: see `TrainingPlan`.
        report: progress callback, called after every step.

    Raises:
        TrainingDiverged: the loss is no longer finite; the last checkpoint is kept.
        CheckpointNotSaved: a checkpoint cannot be written, as on a full disk.
        BadOrigin: the checkpoint cannot be read.
    """
    optimizer = torch.optim.AdamW(network.parameters(), lr=plan.learning_rate)
    network.train()
    for step in range(_resume(network, optimizer, plan), plan.steps):
        for group in optimizer.param_groups:
            group["lr"] = plan.rate(step)
        step_loss = loss(step)
        value = float(step_loss.detach())
        if not math.isfinite(value):
            raise TrainingDiverged(
                f"step {step + 1} of {plan.steps}: the loss is {value}; {plan.checkpoint}, if it exists, contains the "
                "last good weights. Try a lower learning rate, or float32"
            )
        optimizer.zero_grad()
        step_loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(network.parameters(), MAX_GRADIENT_NORM)
        optimizer.step()
        if (step + 1) % plan.check_every == 0 and step + 1 < plan.steps:
            _save(network, optimizer, plan, step + 1)
        report(StepProgress(step + 1, plan.steps, value))
    _require_finite(network, plan)
    network.eval()


def _require_finite(network: nn.Module, plan: TrainingPlan) -> None:
    if not all(bool(weights.isfinite().all()) for weights in network.parameters()):
        raise TrainingDiverged(f"after step {plan.steps} some weights are not finite: lower the learning rate")


def _save(network: nn.Module, optimizer: torch.optim.Optimizer, plan: TrainingPlan, step: int) -> None:
    _require_finite(network, plan)
    temporary = partial_path(plan.checkpoint)
    state = {
        "made_of": plan.provenance,
        "step": step,
        "network": network.state_dict(),
        "optimizer": optimizer.state_dict(),
    }
    try:
        plan.checkpoint.parent.mkdir(parents=True, exist_ok=True)
        torch.save(state, temporary)
        publish(temporary, plan.checkpoint)
    except (OSError, RuntimeError) as error:
        raise CheckpointNotSaved(f"{plan.checkpoint} could not be written: {error}") from error


def _resume(network: nn.Module, optimizer: torch.optim.Optimizer, plan: TrainingPlan) -> int:
    """Load the checkpoint, if it is of this training, and return the step to start with."""
    if not plan.checkpoint.exists():
        return 0
    try:
        state: dict[str, Any] = torch.load(plan.checkpoint, map_location="cpu", weights_only=True)
        if state["made_of"] != plan.provenance:
            return 0
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
    except (OSError, EOFError, UnpicklingError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise BadOrigin(f"the checkpoint {plan.checkpoint} cannot be read, remove it: {error}") from error
    return int(state["step"])


def resolve_precision(device: str, setting: PrecisionSetting = "auto") -> Precision:
    """Number type that networks compute in on a device.

    `auto` is bfloat16 on a GPU and on processors with instructions for it, and float32 on others, where bfloat16 would
    be slower. Sentences are always scored with `auto`, whatever the networks were trained in; so scores differ slightly
    between devices, and their metadata names the precision.
    """
    kind = torch.device(device).type
    fast = kind != "cpu" or bool(torch.cpu.get_capabilities().get("avx512_bf16"))
    return setting if setting != "auto" else "bfloat16" if fast else "float32"


def autocast(device: str, setting: PrecisionSetting = "auto") -> torch.autocast:
    """Context in which a network computes in bfloat16, if `resolve_precision` selects it."""
    enabled = resolve_precision(device, setting) == "bfloat16"
    return torch.autocast(torch.device(device).type, torch.bfloat16, enabled=enabled)
