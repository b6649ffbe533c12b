"""PyTorch: every architecture, on every device."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from semblance.models.embeddings import Floats, Integers, Precision, Want
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.networks.agreement import probe_ids
from semblance.models.runtime import BatchOutput, Compute, pool_batch, require_torch
from semblance.models.text import Booleans, Ints


class Torch:
    """Run the texts of a batch padded to the longest; in bfloat16 by autocast.

    Raises:
        MissingExtra: torch is not installed.
        BadCheckpoint, NotExportable: see `load_network`.
        DeviceLost: the device failed permanently.
    """

    rank: ClassVar[int] = 30

    def __init__(self, checkpoint: Checkpoint, compute: Compute) -> None:
        require_torch("the runtime torch")
        from semblance.models.networks.torch_network import VERSIONS, load_network  # noqa: PLC0415 - imports torch

        self._network = load_network(checkpoint, compute)
        self._lock = threading.Lock()
        self._largest = checkpoint.modules.largest
        self.facts = self._network.facts
        self.versions: Mapping[str, str] = VERSIONS
        self.exact: Sequence[Floats] = ()
        self._precision: Precision = "float32"
        if compute.precision == "bfloat16":
            probes = probe_ids(checkpoint, self.facts)
            self.exact = self.run(probes, [np.ones(len(ids), np.float32) for ids in probes], "tokens").vectors
            self._precision = "bfloat16"

    @classmethod
    def serves(cls, device: str) -> bool:  # noqa: ARG003 - every device
        """The fallback for networks that other runtimes do not support, if torch is installed."""
        return find_spec("torch") is not None

    @classmethod
    def fastest_precision(cls, device: str) -> Precision:
        """bfloat16 on CUDA; CPUs without instructions for bfloat16 take longer than in float32."""
        return "bfloat16" if device.startswith("cuda") else "float32"

    def run(self, ids: Sequence[Ints], weights: Sequence[Floats], want: Want) -> BatchOutput:
        """Encode one padded batch. Raises DeviceLost."""
        lengths = [len(text) for text in ids]
        mask = np.arange(max(lengths)) < np.asarray(lengths)[:, None]
        with self._lock:
            hidden = self._network.encode_padded(
                _padded(ids, mask, self.facts.pad_id), mask.astype(np.int64), self._precision
            )
        return pool_batch(hidden[mask], lengths, weights, want, largest=self._largest)

    def first_vectors(self, ids: Sequence[Ints], types: Sequence[Ints]) -> Floats:
        """(b, d) vectors of the first token of each pair, of a padded batch. Raises DeviceLost."""
        lengths = np.array([len(pair) for pair in ids])
        mask = np.arange(lengths.max()) < lengths[:, None]
        padded = _padded(ids, mask, self.facts.pad_id)
        typed = _padded(types, mask, 0) if self.facts.type_rows else None
        with self._lock:
            hidden = self._network.encode_padded(padded, mask.astype(np.int64), self._precision, typed)
        return hidden[:, 0]


def _padded(rows: Sequence[Ints], mask: Booleans, value: int) -> Integers:
    padded = np.full(mask.shape, value, np.int64)
    padded[mask] = np.concatenate(rows)
    return padded
