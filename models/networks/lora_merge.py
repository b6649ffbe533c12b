"""Merge a low-rank adapter into the network that it was trained for."""

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
    """Add s B A, in float32, to each weight matrix W of a network that the adapter names.

    An adapter that was trained under a head, such as masked language modelling, names matrices with the prefix that the
    network has there, such as `bert.`; names with and without it are accepted.

    Raises:
        BadCheckpoint: the file cannot be read, or a tensor matches no linear layer; the message names it.
    """
    modules = dict(network.named_modules())
    factors = _read_factors(adapter.weights)
    for matrix, pair in factors.items():
        without_prefix = matrix.removeprefix(f"{network.base_model_prefix}.")
        linear = modules.get(matrix, modules.get(without_prefix))
        if not isinstance(linear, torch.nn.Linear):
            raise BadCheckpoint(f"{adapter.weights} updates {matrix}, but the network has no linear layer of that name")
        _add(adapter, matrix, pair, linear.weight.data)


def _add(adapter: LowRankAdapter, matrix: str, pair: Mapping[str, torch.Tensor], weight: torch.Tensor) -> None:
    out_features, in_features = weight.shape
    expected = {"A": (adapter.rank, in_features), "B": (out_features, adapter.rank)}
    for side, shape in expected.items():
        actual = tuple(pair[side].shape) if side in pair else None
        if actual != shape:
            raise BadCheckpoint(f"{adapter.weights} has lora_{side} of {matrix} in shape {actual}, expected {shape}")
    update = adapter.scale * (pair["B"].float() @ pair["A"].float())
    if not update.isfinite().all():
        raise BadCheckpoint(f"{adapter.weights} holds numbers for {matrix} that are not finite")
    weight += update


def _read_factors(weights: Path) -> dict[str, dict[str, torch.Tensor]]:
    """Name of a matrix -> its factors A and B."""
    try:
        tensors = load_file(weights)
    except (OSError, SafetensorError) as error:
        raise BadCheckpoint(f"cannot load {weights}: {error}") from error
    factors: dict[str, dict[str, torch.Tensor]] = {}
    for name, tensor in tensors.items():
        match = _FACTOR.fullmatch(name)
        if match is None:
            raise BadCheckpoint(f"{weights} holds {name}, which is no part of a low-rank update of a linear layer")
        factors.setdefault(match["matrix"], {})[match["side"]] = tensor
    if not factors:
        raise BadCheckpoint(f"{weights} holds no tensor, and so would change nothing")
    return factors
