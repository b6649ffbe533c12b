"""Number types in which OpenVINO computes a graph.

In int8, the weights of linear layers are rounded here, and the runtime rounds what enters these layers: GROUP numbers
of one token share a scale, so that the vectors of a text do not depend on the other texts of its batch. Embeddings,
norms, attention and sums stay float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from semblance.models.embeddings import Floats, Precision
from semblance.models.networks.graph_layers.packed import import_openvino

GROUP = 64  # inputs of a layer that share a scale, of its weights and of a token; fewer are more exact and slower
INT8_VERSION = 1  # raise it when the codes change
OPTIONS: Mapping[Precision, Mapping[str, Any]] = {  # of a compilation
    "float32": {"INFERENCE_PRECISION_HINT": "f32"},
    "bfloat16": {"INFERENCE_PRECISION_HINT": "bf16"},
    "int8": {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": GROUP},
}
_LARGEST = 127
_LEAST = 1e-12  # of a scale, where all numbers are 0


def quantize(graph: Any) -> Any:
    """A copy of a graph whose linear layers have weights in int8.

    With the parts W_g (o, GROUP) of a layer's weights (o, i), by input, a part becomes `round(W_g / s) s`, where s (o,)
    is the largest number of each row, over 127. Inputs that come from a norm are divided by f (i,), and the weights
    multiplied by it, so that a few large inputs do not make the scale of their group coarse::

        f_j = sqrt(a_j / max_k |W_kj|),   a_j = sqrt(gain_j^2 + bias_j^2) of the norm

    a_j is the root mean square of an input that the norm has normalized, so that no text is needed to find it. Layers
    whose number of inputs is not a multiple of GROUP stay as they are.

    Source: xiao-2023-smoothquant, section 4, whose a_j are the largest activations of sample texts.
    """
    graph, op = graph.clone(), import_openvino().opset13
    for node in graph.get_ordered_ops():
        weights = _weights(node)
        if weights is None:
            continue
        if (spread := _spread(_source(node, 0))) is not None:
            factors = np.sqrt(np.maximum(spread, _LEAST) / np.maximum(np.abs(weights).max(axis=0), _LEAST))
            factors = (factors / np.exp(np.log(factors).mean())).astype(np.float32)
            weights = weights * factors
            divided = op.multiply(node.input_value(0), op.constant(1 / factors[None]))
            node.input(0).replace_source_output(divided.output(0))
        parts = weights.reshape(len(weights), -1, GROUP)
        scales = np.maximum(np.abs(parts).max(axis=2, keepdims=True), _LEAST) / _LARGEST
        codes = op.convert(op.constant(np.rint(parts / scales).astype(np.int8)), np.float32)
        rounded = op.multiply(codes, op.constant(scales.astype(np.float32)))
        whole = op.reshape(rounded, op.constant(np.array(weights.shape)), False)
        node.input(1).replace_source_output(whole.output(0))
    return graph


def _weights(node: Any) -> Floats | None:
    """(o, i) weights of a linear layer whose inputs make whole groups; None of any other node."""
    if node.get_type_name() != "MatMul" or not node.get_attributes()["transpose_b"]:
        return None
    weights = _constant(_source(node, 1))
    return None if weights is None or weights.ndim != 2 or weights.shape[1] % GROUP else weights


def _spread(node: Any) -> Floats | None:
    """(i,) root mean square of the numbers that a norm gives; None of any other node."""
    bias: Floats | None = np.zeros(1, np.float32)
    if node.get_type_name() == "Add":
        bias, node = _constant(_source(node, 1)), _source(node, 0)
    if node.get_type_name() != "Multiply" or _source(node, 0).get_type_name() != "MVN":
        return None
    gain = _constant(_source(node, 1))
    return None if gain is None or bias is None else np.sqrt(gain.ravel() ** 2 + bias.ravel() ** 2)


def _source(node: Any, number: int) -> Any:
    return node.input_value(number).get_node()


def _constant(node: Any) -> Floats | None:
    return node.data if node.get_type_name() == "Constant" else None
