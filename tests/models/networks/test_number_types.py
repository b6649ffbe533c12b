"""In int8, linear layers compute what their definition says, and all else stays as it is."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from semblance.models.embeddings import Floats
from semblance.models.networks.graph_layers.packed import import_openvino
from semblance.models.networks.number_types import GROUP, OPTIONS, quantize
from semblance.models.processor.matrix_speed import ABILITIES
from tests.support.devices import computes_in_int8

TOKENS, INPUTS, OUTPUTS = 24, 4 * GROUP, 96
needs_int8 = pytest.mark.skipif(not computes_in_int8(), reason="OpenVINO does not compute in int8 on this CPU")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def layer(weights: Floats, gain: Floats | None = None, bias: Floats | None = None) -> Any:
    """The graph of a linear layer, behind a norm if there is a gain."""
    op, openvino = import_openvino().opset13, import_openvino()
    given = op.parameter([-1, weights.shape[1]], np.float32)
    x = given
    if gain is not None:
        normal = op.mvn(given, op.constant(np.array([-1])), True, 1e-12, "inside_sqrt")
        x = op.multiply(normal, op.constant(gain[None]))
        x = x if bias is None else op.add(x, op.constant(bias[None]))
    return openvino.Model([op.matmul(x, op.constant(weights), False, True)], [given], "layer")


def computed(graph: Any, x: Floats) -> Floats:
    """Output of the graph in int8."""
    compiled = import_openvino().Core().compile_model(quantize(graph), "CPU", dict(OPTIONS["int8"]))
    found: Floats = compiled(x)[0].copy()
    return found


def rounded(x: Floats) -> Floats:
    """Each GROUP of numbers of a row in 255 steps."""
    groups = x.reshape(len(x), -1, GROUP)
    scales = np.abs(groups).max(axis=2, keepdims=True) / 127
    rows: Floats = (np.rint(groups / scales) * scales).reshape(x.shape)
    return rows


@needs_int8
def test_a_layer_multiplies_rounded_numbers(rng: np.random.Generator) -> None:
    weights = rng.standard_normal((OUTPUTS, INPUTS), np.float32) * rng.uniform(0.01, 10, (1, INPUTS)).astype(np.float32)
    x = rng.standard_normal((TOKENS, INPUTS), np.float32)
    found = computed(layer(weights), x)
    size = float(np.abs(found).mean())
    assert np.abs(found - rounded(x) @ rounded(weights).T).max() < 0.003 * size  # a number halfway between two steps
    assert np.abs(found - x @ weights.T).max() > 0.01 * size, "which is not the exact product"


@needs_int8
@pytest.mark.parametrize("biased", [False, True])
def test_large_inputs_of_a_norm_do_not_make_others_coarse(rng: np.random.Generator, biased: bool) -> None:
    weights = rng.standard_normal((OUTPUTS, INPUTS), np.float32)
    x = rng.standard_normal((TOKENS, INPUTS), np.float32)
    gain = np.ones(INPUTS, np.float32)
    gain[:: GROUP // 2] = 40.0
    weights[:, :: GROUP // 2] /= 40.0  # they matter no more than others
    bias = rng.standard_normal(INPUTS).astype(np.float32) if biased else None
    normal = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True) * gain
    normal = normal if bias is None else normal + bias
    exact = normal @ weights.T
    error = np.abs(computed(layer(weights, gain, bias), x) - exact).mean()
    plain = np.abs(rounded(normal) @ rounded(weights).T - exact).mean()
    assert error < plain / 4


def test_other_layers_and_the_graph_stay_as_they_are(rng: np.random.Generator) -> None:
    uneven = layer(rng.standard_normal((OUTPUTS, INPUTS + 1), np.float32))
    assert kinds(quantize(uneven)) == kinds(uneven)
    even = layer(rng.standard_normal((OUTPUTS, INPUTS), np.float32))
    before = kinds(even)
    assert kinds(quantize(even)) != before
    assert kinds(even) == before


def test_zero_weights_and_inputs_stay_zero() -> None:
    weights = np.zeros((OUTPUTS, INPUTS), np.float32)
    weights[0, 0] = 1.0
    [node] = [
        each for each in quantize(layer(weights, np.zeros(INPUTS, np.float32))).get_ordered_ops() if is_int8(each)
    ]
    assert np.count_nonzero(node.data) == 1
    assert np.abs(node.data).max() == 127


def is_int8(node: Any) -> bool:
    return bool(node.get_type_name() == "Constant" and node.get_element_type().get_type_name() == "i8")


def kinds(graph: Any) -> list[str]:
    return [node.get_type_name() for node in graph.get_ordered_ops()]


PROGRAM = """
from semblance.models.errors import NotExportable
from semblance.models.processor.matrix_speed import seconds_of_types
from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import read_source

assert set(seconds_of_types()) == {"float32"}
try:
    read_source("minilm").load("minilm", Compute(precision="int8", runtime="openvino", threads=1))
except NotExportable as error:
    print(error)
"""


def test_a_cpu_without_int8_is_refused_by_name() -> None:
    """OpenVINO returns empty arrays on such a CPU, and no error."""
    environment = {"ONEDNN_MAX_CPU_ISA": "AVX2", "PATH": ""}
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert found.stdout == "OpenVINO gives no vectors in int8 on this processor\n", found.stderr


def test_every_type_has_options() -> None:
    assert set(OPTIONS) == set(ABILITIES)
