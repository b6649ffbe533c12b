"""Merge a low-rank adapter into the weights of a network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from semblance.models.embeddings import Floats
from semblance.models.errors import BadCheckpoint
from semblance.models.files.tensors import read_tensors
from semblance.models.model_files.lora import LowRankAdapter

_FACTOR = re.compile(r"base_model\.model\.(?P<matrix>.+)\.lora_(?P<side>[AB])\.weight")


def merge(adapter: LowRankAdapter, matrices: Mapping[str, Floats], prefix: str) -> None:
    """Add s B A in place to each weight matrix W (out, in) that the adapter names, in float32.

    An adapter that was trained under a head, such as masked language modelling, names matrices with the prefix that the
    network has there, such as `bert`; names with and without it are accepted.

    Args:
        adapter: the adapter.
        matrices: weights of the linear layers of the network, by the name of the layer.
        prefix: name of the network under a head.

    Raises:
        BadCheckpoint: the file cannot be read, or a tensor matches no linear layer; the message names it.
    """
    for name, pair in _read_factors(adapter.weights).items():
        matrix = matrices.get(name, matrices.get(name.removeprefix(f"{prefix}.")))
        if matrix is None:
            raise BadCheckpoint(f"{adapter.weights} updates {name}, but the network has no linear layer of that name")
        _add(adapter, name, pair, matrix)


def _add(adapter: LowRankAdapter, name: str, pair: Mapping[str, Floats], matrix: Floats) -> None:
    out_features, in_features = matrix.shape
    expected = {"A": (adapter.rank, in_features), "B": (out_features, adapter.rank)}
    for side, shape in expected.items():
        actual = pair[side].shape if side in pair else None
        if actual != shape:
            raise BadCheckpoint(f"{adapter.weights} has lora_{side} of {name} in shape {actual}, expected {shape}")
    with np.errstate(over="ignore", invalid="ignore"):  # reported below
        update = np.float32(adapter.scale) * (pair["B"] @ pair["A"])
    if not np.isfinite(update).all():
        raise BadCheckpoint(f"{adapter.weights} holds numbers for {name} that are not finite")
    matrix += update


def _read_factors(weights: Path) -> dict[str, dict[str, Floats]]:
    """Name of a matrix -> its factors A and B."""
    factors: dict[str, dict[str, Floats]] = {}
    for name, tensor in read_tensors(weights).items():
        match = _FACTOR.fullmatch(name)
        if match is None:
            raise BadCheckpoint(f"{weights} holds {name}, which is no part of a low-rank update of a linear layer")
        factors.setdefault(match["matrix"], {})[match["side"]] = tensor
    if not factors:
        raise BadCheckpoint(f"{weights} holds no tensor, and so would change nothing")
    return factors
