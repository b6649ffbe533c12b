"""Dense layers that a model folder may have, of token vectors or behind the pooling."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semblance.models.embeddings import Floats
from semblance.models.errors import BadCheckpoint
from semblance.models.files.digests import digest, file_sha256
from semblance.models.files.json_file import read_json
from semblance.models.files.tensors import read_tensors

_erf = np.frompyfunc(math.erf, 1, 1)  # NumPy has none
ACTIVATIONS: Mapping[str, Callable[[Floats], Floats]] = {  # by their names in torch.nn
    "Identity": lambda x: x,
    "Tanh": np.tanh,
    "ReLU": lambda x: np.maximum(x, np.float32(0)),
    "GELU": lambda x: x * (0.5 * (1 + _erf(x / math.sqrt(2)))).astype(np.float32),
    "Sigmoid": lambda x: (1 / (1 + np.exp(-x))).astype(np.float32),
    "SiLU": lambda x: (x / (1 + np.exp(-x))).astype(np.float32),
}
TOKENS, TEXT = "token_embeddings", "sentence_embedding"  # what a module of sentence-transformers maps


@dataclass(frozen=True, slots=True)
class Dense:
    """A layer x -> a(W x + b), or a(W x + b) + R x with a residual, of every row.

    Without an activation, as in the paper's code, a mean commutes with it: the mean of the mapped tokens is the mapped
    mean.

    Attributes:
        weights: file with `linear.weight` W (out, in), with a bias `linear.bias` b (out,), and with a residual to
            another dimension `residual.weight` R (out, in); R is otherwise the identity.
        in_features: d of the rows.
        out_features: d of the mapped rows.
        bias: whether there is a b.
        activation: name of a in `ACTIVATIONS`.
        residual: whether R x is added.

    Source: lee-etal-2022-clrcmd, section 4.1 and its code; reimers-gurevych-2019-sbert, its code.
    """

    weights: Path
    in_features: int
    out_features: int
    bias: bool = True
    activation: str = "Identity"
    residual: bool = False

    @property
    def affine(self) -> bool:
        """Whether a mean of rows whose weights sum to 1 commutes with it."""
        return self.activation == "Identity"

    @property
    def digest(self) -> str:
        """Digest of its weights and settings.

        Of an affine map without a residual, it is the SHA-256 of its weights.
        """
        weights = file_sha256(self.weights)
        if self.affine and not self.residual:
            return weights
        return digest(weights=weights, activation=self.activation, residual=self.residual)

    def matrices(self) -> dict[str, Floats]:
        """`weight`, and those there are of `bias` and `residual`, in float32. Raises BadCheckpoint."""
        shape = (self.out_features, self.in_features)
        expected: dict[str, tuple[int, ...]] = {"linear.weight": shape}
        if self.bias:
            expected["linear.bias"] = shape[:1]
        if self.residual and self.in_features != self.out_features:
            expected["residual.weight"] = shape
        found = read_fitting(self.weights, expected)
        names = {"linear.weight": "weight", "linear.bias": "bias", "residual.weight": "residual"}
        return {names[name]: tensor for name, tensor in found.items()}

    def load(self) -> Callable[[Floats], Floats]:
        """The layer as a function (n, in) -> (n, out). Raises BadCheckpoint."""
        matrices = self.matrices()
        activate = ACTIVATIONS[self.activation]

        def layer(rows: Floats) -> Floats:
            mapped = activate(rows @ matrices["weight"].T + matrices.get("bias", np.float32(0)))
            if not self.residual:
                return mapped
            return mapped + (rows @ matrices["residual"].T if "residual" in matrices else rows)

        return layer


def read_dense(folder: Path, of: str) -> Dense:
    """Read a folder saved by the Dense module of sentence-transformers.

    Args:
        folder: that of the module.
        of: what it must map: `TOKENS` or `TEXT`.

    Raises:
        BadCheckpoint: it maps something else, its activation is unknown, or its files are missing or damaged.
    """
    config = read_json(folder / "config.json", dict)
    require_maps(config, of, folder)
    library, _, activation = str(config.get("activation_function", "torch.nn.Tanh")).rpartition(".")
    if library.partition(".")[0] != "torch" or activation not in ACTIVATIONS:
        raise BadCheckpoint(
            f"{folder} is a Dense module with the activation_function {config['activation_function']!r}, which is not "
            f"supported: choose one of torch.nn: {', '.join(ACTIVATIONS)}"
        )
    try:
        sizes = int(config["in_features"]), int(config["out_features"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadCheckpoint(f"{folder}/config.json must state in_features and out_features") from error
    dense = Dense(
        folder / "model.safetensors",
        *sizes,
        bias=bool(config.get("bias", True)),
        activation=activation,
        residual=bool(config.get("use_residual", False)),
    )
    dense.matrices()  # so that a damaged file is found where the model is listed
    return dense


def require_maps(config: Mapping[str, Any], of: str, folder: Path) -> None:
    """Reject a module that maps other vectors, or writes them elsewhere. Raises BadCheckpoint."""
    source = config.get("module_input_name", TEXT)
    target = config.get("module_output_name") or source
    if (source, target) != (of, of):
        raise BadCheckpoint(
            f"{folder} is a module from {source} to {target}, which is not supported: in its place in modules.json it "
            f"must map {of}"
        )


def read_fitting(file: Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Floats]:
    """Read tensors, which must be those of a layer.

    Raises:
        BadCheckpoint: the file is missing or damaged, or tensors are missing, have other shapes or are not finite.
    """
    if not file.exists():
        raise BadCheckpoint(f"{file.parent} has no {file.name}; other formats of weights can run code and are not read")
    tensors = read_tensors(file)
    if (found := {name: tensor.shape for name, tensor in tensors.items()}) != shapes:
        raise BadCheckpoint(f"cannot load {file}: its shapes are {found}, config.json says {dict(shapes)}")
    if damaged := [name for name, tensor in tensors.items() if not np.isfinite(tensor).all()]:
        raise BadCheckpoint(f"{file} has numbers that are not finite, in {damaged[0]}: copy it again")
    return tensors
