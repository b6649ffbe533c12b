"""Devices available to tests that must hold on each."""

from __future__ import annotations

import torch

from semblance.models.networks.graph_layers.packed import import_openvino
from semblance.models.processor.matrix_speed import seconds_of_types

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def computes_in_bfloat16() -> bool:
    """Whether OpenVINO computes in bfloat16 on this CPU; on others it takes float32 in its place."""
    return "BF16" in import_openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


def computes_in_int8() -> bool:
    """Whether OpenVINO computes in int8 on this CPU; on others it gives nothing."""
    return "int8" in seconds_of_types()
