"""Parts that networks of several kinds share, as nodes of OpenVINO over packed texts."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Floats
from semblance.models.model_files.dense import Dense
from semblance.models.networks.shape_buckets import GraphInputs

_ACTIVATIONS = {  # nodes of those of dense.py
    "Identity": None,
    "Tanh": "tanh",
    "ReLU": "relu",
    "GELU": "gelu",
    "Sigmoid": "sigmoid",
    "SiLU": "swish",
}

_CONVERTER = "openvino.tools.ovc"


def import_openvino() -> Any:
    """Import OpenVINO with telemetry disabled, and without its converter.

    The converter takes a third of the time; it can be imported by its own name.
    """
    first = "openvino" not in sys.modules
    if first:  # an import of None fails, which OpenVINO expects of both
        sys.modules.update(dict.fromkeys(("openvino_telemetry", _CONVERTER)))  # type: ignore[arg-type]
    import openvino  # noqa: PLC0415 - not installed everywhere

    if first:
        sys.modules.pop(_CONVERTER, None)
    return openvino


class PackedLayers(ABC):
    """The layers of a network, over packed texts: only attention sees a padded grid.

    Args:
        weights: by name.
        config: that of the folder, with the names of BERT.

    Raises:
        KeyError: a weight or a setting is missing.
    """

    def __init__(self, weights: Mapping[str, Floats], config: Mapping[str, Any]) -> None:
        self._openvino = import_openvino()
        self._op = self._openvino.opset13
        self._weights = weights
        self._dim, self._heads = int(config["hidden_size"]), int(config["num_attention_heads"])
        self._layers, self._epsilon = int(config["num_hidden_layers"]), float(config["layer_norm_eps"])

    @property
    @abstractmethod
    def positions(self) -> int:
        """Positions that the network has, of which some precede the first token."""

    @abstractmethod
    def _hidden(self, inputs: GraphInputs) -> Any:
        """(T, d): the vectors of the last layer."""

    def graph(self, heads: Sequence[Dense]) -> Any:
        """The whole network: its layers, and the heads of token vectors."""
        op = self._op
        ids, positions, places = (op.parameter([-1], np.int64, name) for name in ("ids", "positions", "places"))
        tokens, real = op.parameter([-1, -1], np.int64, "tokens"), op.parameter([-1, -1], np.bool_, "real")
        inputs = GraphInputs(ids, positions, tokens, real, places)
        hidden = self._hidden(inputs)
        for head in heads:
            hidden = self._dense(hidden, head)
        return self._openvino.Model([op.result(hidden)], list(inputs), "network")

    def _attention(self, query: Any, key: Any, value: Any, inputs: GraphInputs, seen: Any) -> Any:
        """(T, d) each -> (T, d): each token attends to those of its text that it sees."""
        op, swap = self._op, self._integers(0, 2, 1, 3)
        split = self._integers(0, 0, self._heads, self._dim // self._heads)
        grids = (
            op.transpose(op.reshape(self._rows(each, inputs.tokens), split, True), swap) for each in (query, key, value)
        )  # (b, h, l, d / h)
        attended = op.transpose(op.scaled_dot_product_attention(*grids, seen), swap)
        return self._rows(op.reshape(attended, self._integers(-1, self._dim), False), inputs.places)

    def _real(self, inputs: GraphInputs) -> Any:
        """(b, 1, 1, l): the cells that hold a token."""
        return self._op.unsqueeze(inputs.real, self._integers(1, 2))

    def _apart(self, inputs: GraphInputs) -> Any:
        """(l, l): by how many cells each key follows each query."""
        op = self._op
        zero, one = op.constant(np.int64(0)), op.constant(np.int64(1))
        cells = op.range(zero, op.gather(op.shape_of(inputs.real), one, zero), one, "i64")
        return op.subtract(op.unsqueeze(cells, self._integers(0)), op.unsqueeze(cells, self._integers(1)))

    def _dense(self, x: Any, head: Dense) -> Any:
        """(T, in) -> (T, out)."""
        op, matrices = self._op, head.matrices()
        mapped = self._affine(x, matrices["weight"], matrices.get("bias"))
        if (node := _ACTIVATIONS[head.activation]) is not None:
            mapped = op.gelu(mapped, "ERF") if node == "gelu" else getattr(op, node)(mapped)
        if not head.residual:
            return mapped
        return op.add(mapped, self._affine(x, matrices["residual"]) if "residual" in matrices else x)

    def _linear(self, x: Any, name: str, *, bias: bool = True) -> Any:
        return self._affine(x, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"] if bias else None)

    def _affine(self, x: Any, weight: Floats, bias: Floats | None = None) -> Any:
        """X W^T + b."""
        product = self._op.matmul(x, self._numbers(weight), False, True)
        return product if bias is None else self._op.add(product, self._numbers(bias[None]))

    def _norm(self, x: Any, name: str, *, bias: bool = True) -> Any:
        op, weights = self._op, self._weights
        normal = op.mvn(x, self._integers(-1), True, self._epsilon, "inside_sqrt")
        scaled = op.multiply(normal, self._numbers(weights[f"{name}.weight"][None]))
        return op.add(scaled, self._numbers(weights[f"{name}.bias"][None])) if bias else scaled

    def _rows(self, table: Any, indices: Any) -> Any:
        """Rows of a table (r, d), in the shape of the indices."""
        return self._op.gather(table, indices, self._op.constant(np.int64(0)))

    def _numbers(self, weights: NDArray[Any]) -> Any:
        """Weights as they lie in memory, not copied: the node keeps the array."""
        return self._op.constant(weights, shared_memory=True)

    def _integers(self, *values: int) -> Any:
        return self._op.constant(np.array(values, np.int64))
