"""Devices available to tests that must hold on each."""

from __future__ import annotations

import torch

from semblance.models.networks.graph_layers.packed import import_openvino

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def computes_in_bfloat16() -> bool:
    """Whether OpenVINO computes in bfloat16 on this CPU; on others it takes float32 in its place."""
    return "BF16" in import_openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
