"""Training in several processes: what they gather from each other, and averages over them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import torch
from accelerate import PartialState
from sentence_transformers.util import all_gather, all_gather_padded, get_rank, get_world_size
from torch import Tensor, distributed, nn

TIMEOUT = timedelta(days=1)  # process 0 evaluates on the dev sets, while the others wait


def join_processes(device: str) -> PartialState:
    """Connect with the other processes that torchrun started, if it did."""
    cpu = device == "cpu"
    return PartialState(cpu=cpu, timeout=TIMEOUT) if distributed.is_torchelastic_launched() else PartialState(cpu=cpu)


def gather(rows: Tensor) -> Tensor:
    """Gather rows (b, ...) of all n processes as (n b, ...), those of this one first.

    Gradients go back to the processes whose rows they are.
    """
    if get_world_size() == 1:
        return rows
    return _own_first(all_gather(rows, with_grad=True), len(rows))


def gather_tokens(vectors: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Gather token vectors (b, l, d) and their mask (b, l), those of this process first.

    They are padded to the longest text of all processes.
    """
    if get_world_size() == 1:
        return vectors, mask
    everyone, masks = all_gather_padded(vectors, mask, with_grad=True)
    return _own_first(everyone, len(vectors)), _own_first(masks, len(mask))


def _own_first(rows: Tensor, own: int) -> Tensor:
    return rows.roll(-get_rank() * own, dims=0)


def share_of_mean(values: Tensor) -> Tensor:
    """The share of this process in a mean over all: n sum(values) / count, with n processes.

    Its mean over the processes is the mean of all values, however many each has; 0 if there are none.
    """
    count = torch.tensor(len(values), device=values.device)
    if get_world_size() > 1:
        distributed.all_reduce(count)
    return get_world_size() * values.sum() / count.clamp(min=1)


def own_part(choice: Tensor) -> Tensor:
    """Each n-th of the numbers that process 0 chose; all of them with one process."""
    if get_world_size() > 1:
        distributed.broadcast(choice, src=0)
    return choice[get_rank() :: get_world_size()]


def average_gradients(weights: Iterable[nn.Parameter]) -> None:
    """Replace each gradient by its mean over the processes.

    The same weights must have one in all of them.
    """
    if get_world_size() == 1:
        return
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    means = torch.cat([gradient.flatten() for gradient in gradients]) / get_world_size()
    distributed.all_reduce(means)
    start = 0
    for each in gradients:
        each.copy_(means[start : start + each.numel()].view_as(each))
        start += each.numel()
