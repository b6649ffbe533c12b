"""OpenVINO: the fastest on CPUs."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from models.checkpoint import Checkpoint
from models.embeddings import Floats, Want
from models.errors import NotExportable
from models.export_folder import exported
from models.model_files import digest, read_json
from models.probes import PROBES
from models.quiet_openvino import openvino
from models.runtime import Compute, Encoded, NetworkFacts, Precision, pool
from models.text import Ints

# each size of a pass is compiled when it is first met (some milliseconds, and 0.3 MB for good), so there are few sizes
WIDTHS = (*range(4, 32, 4), *range(32, 128, 8), *range(128, 513, 32))  # tokens, all texts of a pass padded to it
ROWS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128)  # texts

_NETWORK, _FACTS, _EXACT = "network.xml", "facts.json", "probes.safetensors"


class OpenVino:
    """The network as a graph of OpenVINO, exported from torch once and kept; loaded again, it needs no torch.

    Raises:
        NotExportable: OpenVINO cannot convert the network, or the export cannot be written; or the device is no CPU.
        BadCheckpoint: see `TorchNetwork`.
    """

    def __init__(self, checkpoint: Checkpoint, compute: Compute) -> None:
        if compute.device != "cpu":
            raise NotExportable(f"OpenVINO is used on CPUs only, not on {compute.device}")
        self._pooling = checkpoint.pooling
        self.versions: Mapping[str, str] = {name: version(name) for name in ("openvino", "torch", "transformers")}
        fingerprint = digest(space=checkpoint.space, versions=dict(self.versions), probes=PROBES)
        with exported(compute.exports, fingerprint, lambda folder: _export(checkpoint, folder)) as folder:
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
        """One pass, padded to one of few sizes."""
        lengths = [len(text) for text in ids]
        longest = max(lengths)
        rows, width = _at_least(len(ids), ROWS), min(_at_least(longest, WIDTHS), max(self.facts.max_tokens, longest))
        mask = np.arange(width) < np.asarray(lengths + [1] * (rows - len(ids)))[:, None]  # no text is without a token
        padded = np.full((rows, width), self.facts.pad_id, np.int64)
        padded[: len(ids)][mask[: len(ids)]] = np.concatenate(ids)
        given = {0: padded, 1: mask.astype(np.int64)}
        hidden: Floats = self._request.infer(given, share_inputs=True, share_outputs=True)[0]
        vectors = [hidden[row, :length].copy() for row, length in enumerate(lengths)] if want == "tokens" else ()
        return Encoded(pool(hidden, lengths, weights, self._pooling), vectors)


def _at_least(size: int, sizes: Sequence[int]) -> int:
    return next((each for each in sizes if each >= size), size)


def _compiled(network: Path, compute: Compute) -> Any:
    hints = {"bfloat16": "bf16", "float32": "f32"}
    options: dict[str, Any] = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": hints[compute.precision]}
    if compute.threads is not None:
        options["INFERENCE_NUM_THREADS"] = compute.threads
    return openvino.Core().compile_model(network, "CPU", options).create_infer_request()


def _export(checkpoint: Checkpoint, folder: Path) -> None:
    """Write the network, what is to be known of it, and what torch makes of the probes."""
    import torch  # noqa: PLC0415 - it takes seconds, and only an export needs it

    from models.probes import probe_ids  # noqa: PLC0415
    from models.torch_network import TorchNetwork  # noqa: PLC0415 - the same

    network = TorchNetwork(checkpoint)
    ids = torch.ones(2, 8, dtype=torch.long)
    sizes = {0: torch.export.Dim("texts", min=1), 1: torch.export.Dim("tokens", min=1, max=network.facts.max_tokens)}
    try:
        with warnings.catch_warnings(action="ignore"):  # of what these libraries will do without one day
            graph = torch.export.export(network, (ids, torch.ones_like(ids)), dynamic_shapes=(sizes, sizes))
            converted = openvino.convert_model(graph)
    except Exception as error:  # it raises whatever the network came to
        raise NotExportable(f"OpenVINO cannot convert the network of {checkpoint.folder}: {error}") from error
    openvino.save_model(converted, folder / _NETWORK, compress_to_fp16=False)
    probes = [torch.from_numpy(each.astype(np.int64))[None] for each in probe_ids(checkpoint, network.facts)]
    with torch.inference_mode():
        exact = {str(i): network(each, torch.ones_like(each))[0].numpy() for i, each in enumerate(probes)}
    save_file(exact, folder / _EXACT)
    facts = network.facts
    (folder / _FACTS).write_text(json.dumps({name: getattr(facts, name) for name in NetworkFacts.__slots__}), "utf-8")
