"""Does this CPU multiply matrices faster in bfloat16?"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from semblance.models.networks.graph_layers.packed import import_openvino

MIN_GAIN = 1.2  # times as fast: less gains nothing in a whole network, and would let the choice vary between starts
ROUNDS = 10
SHAPE = (128, 384, 1536)  # tokens, inputs, outputs: a batch in the largest layer of a small network
_MEASURING = threading.Lock()  # two measurements at the same time would disturb each other


def faster_in_bfloat16() -> bool:
    """Whether OpenVINO multiplies matrices faster in bfloat16 than in float32; not if it cannot.

    It is measured, in a tenth of a second, by alternating runs on one core; the least time of each counts. The
    instructions that a CPU lists do not tell: those for vectors of bfloat16 nearly double the rate of some makes and
    lower that of others.
    """
    with _MEASURING:
        return _measured()


@lru_cache(maxsize=1)
def _measured() -> bool:
    try:
        core = import_openvino().Core()
        if "BF16" not in _number_types(core):
            return False
        seconds = _seconds(core)
    except RuntimeError:  # of OpenVINO; loading the network, which comes next, will say why
        return False
    return seconds["f32"] > MIN_GAIN * seconds["bf16"]


def _seconds(core: Any) -> Mapping[str, float]:
    """The least time of one product in either number type."""
    tokens, inputs, outputs = SHAPE
    rng = np.random.default_rng(0)
    given = rng.standard_normal((tokens, inputs), np.float32)
    graph = _product(rng.standard_normal((outputs, inputs), np.float32), tokens)
    requests = {hint: _request(core, graph, hint) for hint in ("f32", "bf16")}
    for request in requests.values():
        request.infer([given])  # the first run prepares the weights
    seconds = dict.fromkeys(requests, math.inf)
    for _ in range(ROUNDS):
        for hint, request in requests.items():
            began = time.perf_counter()
            request.infer([given], share_inputs=True)
            seconds[hint] = min(seconds[hint], time.perf_counter() - began)
    return seconds


def _number_types(core: Any) -> Sequence[str]:
    """Number types that the CPU computes in, and other abilities."""
    abilities: Sequence[str] = core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return abilities


def _product(weights: Any, tokens: int) -> Any:
    """The graph of one layer."""
    openvino = import_openvino()
    operations = openvino.opset13
    given = operations.parameter([tokens, weights.shape[1]], np.float32)
    return openvino.Model([operations.matmul(given, operations.constant(weights), False, True)], [given], "product")


def _request(core: Any, graph: Any, hint: str) -> Any:
    options = {"INFERENCE_PRECISION_HINT": hint, "INFERENCE_NUM_THREADS": 1}
    return core.compile_model(graph, "CPU", options).create_infer_request()
