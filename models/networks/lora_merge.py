"""A low-rank adapter merged into the network it was trained for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from semblance.models.errors import BadCheckpoint
from semblance.models.model_files.lora import LowRankAdapter

_FACTOR = re.compile(r"base_model\.model\.(?P<matrix>.+)\.lora_(?P<side>[AB])\.weight")


def merge(adapter: LowRankAdapter, network: Any) -> None:
    """Add s B A to every weight matrix W of a network of transformers that the adapter names, in float32.

    An adapter that was trained under a head (masked language modelling, say) names matrices with the prefix that the
    network has there, such as `bert.`; both forms are taken.

    Raises:
        BadCheckpoint: the file cannot be read, or one of its tensors fits no linear layer; the message names it.
    """
    modules = dict(network.named_modules())
    factors = _factors(adapter.weights)
    for matrix, sides in factors.items():
        bare = matrix.removeprefix(f"{network.base_model_prefix}.")
        linear = modules.get(matrix, modules.get(bare))
        if not isinstance(linear, torch.nn.Linear):
            raise BadCheckpoint(f"{adapter.weights} updates {matrix}, but the network has no linear layer of that name")
        _add(adapter, matrix, sides, linear.weight.data)


def _add(adapter: LowRankAdapter, matrix: str, sides: Mapping[str, torch.Tensor], weight: torch.Tensor) -> None:
    out_features, in_features = weight.shape
    wanted = {"A": (adapter.rank, in_features), "B": (out_features, adapter.rank)}
    for side, shape in wanted.items():
        found = tuple(sides[side].shape) if side in sides else None
        if found != shape:
            raise BadCheckpoint(f"{adapter.weights} has lora_{side} of {matrix} in shape {found}, expected {shape}")
    update = adapter.scale * (sides["B"].float() @ sides["A"].float())
    if not update.isfinite().all():
        raise BadCheckpoint(f"{adapter.weights} holds numbers for {matrix} that are not finite")
    weight += update


def _factors(weights: Path) -> dict[str, dict[str, torch.Tensor]]:
    """Name of a matrix -> its A and B."""
    try:
        tensors = load_file(weights)
    except (OSError, SafetensorError) as error:
        raise BadCheckpoint(f"cannot load {weights}: {error}") from error
    factors: dict[str, dict[str, torch.Tensor]] = {}
    for name, tensor in tensors.items():
        named = _FACTOR.fullmatch(name)
        if named is None:
            raise BadCheckpoint(f"{weights} holds {name}, which is no part of a low-rank update of a linear layer")
        factors.setdefault(named["matrix"], {})[named["side"]] = tensor
    if not factors:
        raise BadCheckpoint(f"{weights} holds no tensor, and so would change nothing")
    return factors
