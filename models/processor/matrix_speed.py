"""In which number type does this CPU multiply matrices fastest?"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from semblance.models.embeddings import Floats, Precision
from semblance.models.networks.graph_layers.packed import import_openvino
from semblance.models.networks.number_types import OPTIONS, quantize

# times as fast as the best of the more exact types: less gains nothing in a whole network, in which attention is
# float32 beside int8, and would let the choice vary between starts
MIN_GAINS: Mapping[Precision, float] = {"bfloat16": 1.2, "int8": 1.5}
ROUNDS = 10
SHAPE = (128, 384, 1536)  # tokens, inputs, outputs: a batch in the largest layer of a small network
ABILITIES: Mapping[Precision, str] = {"float32": "FP32", "bfloat16": "BF16", "int8": "INT8"}  # names of OpenVINO
_MEASURING = threading.Lock()  # two measurements at the same time would disturb each other


def fastest_type() -> Precision:
    """The number type in which OpenVINO multiplies matrices fastest.

    It is float32 if it cannot multiply them. Otherwise it is measured, in a tenth of a second, by alternating runs on
    one core; the least time of each counts. The instructions that a CPU lists do not tell: those for vectors of
    bfloat16 nearly double the rate of some makes and lower that of others. A type must be clearly faster than the more
    exact ones (MIN_GAINS).
    """
    with _MEASURING:
        return _measured()


@lru_cache(maxsize=1)
def _measured() -> Precision:
    seconds = seconds_of_types()
    fastest: Precision = "float32"
    for precision, gain in MIN_GAINS.items():
        if seconds.get(precision, math.inf) * gain < seconds.get(fastest, 0.0):
            fastest = precision
    return fastest


def seconds_of_types() -> Mapping[Precision, float]:
    """The least time of one product in each number type that the CPU computes in."""
    tokens, inputs, outputs = SHAPE
    rng = np.random.default_rng(0)
    given = rng.standard_normal((tokens, inputs), np.float32)
    graph = _product(rng.standard_normal((outputs, inputs), np.float32), tokens)
    seconds: dict[Precision, float] = {}
    requests = {each: request for each in OPTIONS if (request := _request(graph, each, given)) is not None}
    for _ in range(ROUNDS):
        for precision, request in requests.items():
            began = time.perf_counter()
            request.infer([given], share_inputs=True)
            seconds[precision] = min(seconds.get(precision, math.inf), time.perf_counter() - began)
    return seconds


def _product(weights: Any, tokens: int) -> Any:
    """The graph of one layer."""
    openvino = import_openvino()
    operations = openvino.opset13
    given = operations.parameter([tokens, weights.shape[1]], np.float32)
    return openvino.Model([operations.matmul(given, operations.constant(weights), False, True)], [given], "product")


def _request(graph: Any, precision: Precision, given: Floats) -> Any | None:
    """A request that has run once, to prepare the weights; None if this CPU has not the type."""
    quantized = quantize(graph) if precision == "int8" else graph
    options, core = {**OPTIONS[precision], "INFERENCE_NUM_THREADS": 1}, import_openvino().Core()
    try:
        if ABILITIES[precision] not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            return None
        request = core.compile_model(quantized, "CPU", options).create_infer_request()
        found = request.infer([given])[0]
    except RuntimeError:  # of OpenVINO; if float32 fails, too, loading the network, which comes next, will say why
        return None
    return request if len(found) == len(given) else None  # in int8, some processors give nothing, without an error
