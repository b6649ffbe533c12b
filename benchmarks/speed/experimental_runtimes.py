"""Runtimes for CPUs that were tried and are not served: from token ids to token vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic

from semblance.models.embeddings import Floats
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.networks.graph_layers.packed import import_openvino
from semblance.models.networks.torch_network import TorchNetwork
from semblance.models.text import Ints

Padded: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Forward: TypeAlias = Callable[[Padded, Padded], Floats]  # ids and mask (b, l) -> (b, l, d)
Encode: TypeAlias = Callable[[Sequence[Ints]], list[Floats]]

GROUP = "32"  # activations that share a scale in OpenVINO's int8


def experimental_runtime(name: str, checkpoint: Checkpoint, folder: Path) -> Encode:
    """Create one of EXPERIMENTAL; `folder` is for exports."""
    forward = EXPERIMENTAL[name](checkpoint, folder)

    def encode(ids: Sequence[Ints]) -> list[Floats]:
        lengths = np.array([len(text) for text in ids])
        mask = np.arange(lengths.max()) < lengths[:, None]
        padded = np.zeros(mask.shape, np.int64)
        padded[mask] = np.concatenate(ids)
        hidden = forward(padded, mask.astype(np.int64))
        return [hidden[row, :length].copy() for row, length in enumerate(lengths)]

    return encode


def _torch(network: Any, *, reduced: bool) -> Forward:
    def forward(ids: Padded, mask: Padded) -> Floats:
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=reduced):
            hidden: Floats = network(torch.from_numpy(ids), torch.from_numpy(mask)).float().numpy()
        return hidden

    return forward


def _compiled(network: TorchNetwork) -> Any:
    return torch.compile(network, dynamic=True)


class _Int8Linear(torch.nn.Module):
    """A linear layer in int8, with a scale per output of the weights and per input token."""

    def __init__(self, linear: torch.nn.Linear) -> None:
        super().__init__()
        self._scale = linear.weight.abs().amax(dim=1) / 127
        self._weight = (linear.weight / self._scale[:, None]).round().to(torch.int8).t().contiguous()
        self._bias = linear.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.reshape(-1, x.shape[-1])
        scale = rows.abs().amax(dim=1, keepdim=True).clamp(min=1e-9) / 127
        product = torch._int_mm((rows / scale).round().to(torch.int8), self._weight)  # noqa: SLF001 - there is no public name
        return (product * scale * self._scale + self._bias).reshape(*x.shape[:-1], -1)


def _quantized(network: torch.nn.Module) -> torch.nn.Module:
    with torch.no_grad():
        for name, module in network.named_children():
            setattr(network, name, _Int8Linear(module) if isinstance(module, torch.nn.Linear) else _quantized(module))
    return network


def _sizes() -> tuple[dict[int, Any], dict[int, Any]]:
    sizes = {0: torch.export.Dim("texts", min=1), 1: torch.export.Dim("tokens", min=1, max=512)}
    return sizes, sizes


def _example() -> tuple[torch.Tensor, torch.Tensor]:
    ids = torch.ones(2, 8, dtype=torch.long)
    return ids, torch.ones_like(ids)


def _openvino_graph(checkpoint: Checkpoint) -> Any:
    import_openvino()
    from openvino.tools.ovc import convert_model  # noqa: PLC0415 - after the import that disables telemetry

    return convert_model(torch.export.export(TorchNetwork(checkpoint), _example(), dynamic_shapes=_sizes()))


def _openvino_int8(graph: Any) -> Forward:
    """Weights in int8 with a scale per output; activations are scaled in each forward pass."""
    openvino = import_openvino()
    from openvino import opset13 as ops  # noqa: PLC0415 - after the import that disables telemetry

    for node in graph.get_ordered_ops():
        weight = node.input_value(1).get_node() if node.get_type_name() == "MatMul" else None
        if weight is None or weight.get_type_name() != "Constant":
            continue
        scale = np.abs(weight.data).max(axis=1, keepdims=True) / 127
        codes = ops.convert(ops.constant(np.rint(weight.data / scale).astype(np.int8)), np.float32)
        node.input(1).replace_source_output(ops.multiply(codes, ops.constant(scale.astype(np.float32))).output(0))
    hints = {"PERFORMANCE_HINT": "LATENCY", "DYNAMIC_QUANTIZATION_GROUP_SIZE": GROUP}
    request = openvino.Core().compile_model(graph, "CPU", hints).create_infer_request()

    def forward(ids: Padded, mask: Padded) -> Floats:
        hidden: Floats = request.infer({0: ids, 1: mask}, share_inputs=True, share_outputs=True)[0]
        return hidden

    return forward


def _onnx_graph(checkpoint: Checkpoint, folder: Path) -> Path:
    file = folder / "network.onnx"
    torch.onnx.export(
        TorchNetwork(checkpoint),
        _example(),
        file,
        input_names=["ids", "mask"],
        dynamic_shapes=_sizes(),
        dynamo=True,
        verbose=False,
    )
    return file


def _onnx_quantized(graph: Path) -> Path:
    file = graph.with_name("network-int8.onnx")
    quantize_dynamic(graph, file, per_channel=True, weight_type=QuantType.QInt8)
    return file


def _onnx(file: Path) -> Forward:
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])

    def forward(ids: Padded, mask: Padded) -> Floats:
        hidden: Floats = session.run(None, {"ids": ids, "mask": mask})[0]
        return hidden

    return forward


EXPERIMENTAL: Mapping[str, Callable[[Checkpoint, Path], Forward]] = {
    "torch bfloat16, compiled": lambda checkpoint, _: _torch(_compiled(TorchNetwork(checkpoint)), reduced=True),
    "torch int8, a scale a token": lambda checkpoint, _: _torch(_quantized(TorchNetwork(checkpoint)), reduced=False),
    "openvino int8, a scale for 32 numbers of a token": lambda checkpoint, _: _openvino_int8(
        _openvino_graph(checkpoint)
    ),
    "onnxruntime float32": lambda checkpoint, folder: _onnx(_onnx_graph(checkpoint, folder)),
    "onnxruntime int8, a scale a batch": lambda checkpoint, folder: _onnx(
        _onnx_quantized(_onnx_graph(checkpoint, folder))
    ),
}
