"""OpenVINO: the fastest on CPUs."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file, save_file

from semblance.models.embeddings import Floats, Want
from semblance.models.errors import NotExportable
from semblance.models.files.digests import digest
from semblance.models.files.json_file import read_json
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.networks.agreement import PROBES
from semblance.models.networks.export_cache import exported
from semblance.models.networks.openvino_import import openvino
from semblance.models.networks.shape_buckets import LaidOut, laid_out
from semblance.models.runtime import Compute, Encoded, NetworkFacts, Precision, encoded
from semblance.models.text import Ints

FORMAT = 1  # of an export; to be raised when the same network comes to another graph, or to other files
_NETWORK, _FACTS, _EXACT = "network.xml", "facts.json", "probes.safetensors"


class OpenVino:
    """The network as a graph of OpenVINO, exported from torch once and kept; loaded again, it needs no torch.

    The texts of a pass stand one after another without padding, but for attention (networks/export_attention.py).
    OpenVINO compiles kernels for each size of a pass when it first meets it, and keeps them; so a pass is filled up to
    one of few sizes.

    Raises:
        NotExportable: OpenVINO cannot convert or compile the network, or its attention sees more than it says, or the
            export cannot be written; or the device is no CPU.
        BadCheckpoint: see `TorchNetwork`.
    """

    def __init__(self, checkpoint: Checkpoint, compute: Compute) -> None:
        if compute.device != "cpu":
            raise NotExportable(f"OpenVINO is used on CPUs only, not on {compute.device}")
        self._pooling = checkpoint.pooling
        self.versions: Mapping[str, str] = {name: version(name) for name in ("openvino", "torch", "transformers")}
        with exported(
            compute.exports, _fingerprint(checkpoint, self.versions), lambda folder: _export(checkpoint, folder)
        ) as folder:
            self.facts = NetworkFacts(**read_json(folder / _FACTS, dict))
            exact = load_file(folder / _EXACT)
            self.exact: Sequence[Floats] = [exact[str(i)] for i in range(len(exact))]
            self._request = _compiled(folder / _NETWORK, compute)

    @classmethod
    def fastest(cls, device: str) -> Precision:
        """bfloat16 where the CPU multiplies it by itself."""
        capabilities = openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
        return "bfloat16" if device == "cpu" and "BF16" in capabilities else "float32"

    def run(self, ids: Sequence[Ints], weights: Sequence[Floats], want: Want) -> Encoded:
        """One pass, filled up to one of few sizes."""
        laid = laid_out(ids, self.facts)
        hidden: Floats = self._request.infer(dict(enumerate(laid)), share_inputs=True, share_outputs=True)[0]
        return encoded(hidden, [len(text) for text in ids], weights, self._pooling, want)


def _fingerprint(checkpoint: Checkpoint, versions: Mapping[str, str]) -> str:
    """Of everything that decides what an export holds and how it is read."""
    return digest(
        format=FORMAT,
        inputs=LaidOut._fields,
        facts=NetworkFacts.__slots__,
        space=checkpoint.space,
        versions=dict(versions),
        probes=PROBES,
    )


def _compiled(network: Path, compute: Compute) -> Any:
    hints = {"bfloat16": "bf16", "float32": "f32"}
    options: dict[str, Any] = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": hints[compute.precision]}
    if compute.threads is not None:
        options["INFERENCE_NUM_THREADS"] = compute.threads
    try:
        return openvino.Core().compile_model(network, "CPU", options).create_infer_request()
    except RuntimeError as error:
        raise NotExportable(f"OpenVINO cannot compile {network}: {error}") from error


def _export(checkpoint: Checkpoint, folder: Path) -> None:
    """Write the network, what is to be known of it, and what torch makes of the probes."""
    from semblance.models.networks.graph_export import gathered_export  # noqa: PLC0415 - it takes seconds to import torch

    graph, facts, exact = gathered_export(checkpoint)
    try:
        with warnings.catch_warnings(action="ignore"):  # of what these libraries will do without one day
            converted = openvino.convert_model(graph)
    except Exception as error:  # it raises whatever the network came to
        raise NotExportable(f"OpenVINO cannot convert the network of {checkpoint.folder}: {error}") from error
    openvino.save_model(converted, folder / _NETWORK, compress_to_fp16=False)
    save_file({str(i): each for i, each in enumerate(exact)}, folder / _EXACT)
    (folder / _FACTS).write_text(json.dumps({name: getattr(facts, name) for name in NetworkFacts.__slots__}), "utf-8")
