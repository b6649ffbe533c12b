"""PyTorch without padding: the fastest on GPUs."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import ClassVar

from semblance.models.embeddings import Floats, Precision, Want
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.networks.agreement import probe_ids
from semblance.models.runtime import BatchOutput, Compute, require_torch
from semblance.models.text import Ints


class TorchPacked:
    """Run the texts of a batch as one sequence, if attention can be replaced: `PackedBatches`.

    Raises:
        MissingExtra: torch is not installed.
        BadCheckpoint: see `TorchNetwork`.
        NotExportable, DeviceLost: see `PackedBatches`.
    """

    rank: ClassVar[int] = 20

    def __init__(self, checkpoint: Checkpoint, compute: Compute) -> None:
        require_torch("the runtime torch_packed")
        from semblance.models.networks.packed_batches import PackedBatches  # noqa: PLC0415 - imports torch
        from semblance.models.networks.torch_network import VERSIONS, load_network  # noqa: PLC0415 - likewise

        network = load_network(checkpoint, compute)
        self.facts = network.facts
        self.versions: Mapping[str, str] = VERSIONS
        self.exact: Sequence[Floats] = [network.encode_one(ids) for ids in probe_ids(checkpoint, self.facts)]
        self._lock = threading.Lock()
        self._batches = PackedBatches(
            network.network, network.head, compute.device, compute.precision, largest=checkpoint.modules.largest
        )

    @classmethod
    def serves(cls, device: str) -> bool:
        """On CUDA; on a CPU it runs as well, but is slower than the others."""
        return device != "cpu"

    @classmethod
    def fastest_precision(cls, device: str) -> Precision:
        """bfloat16 on CUDA, the number type of the attention kernel."""
        return "bfloat16" if device.startswith("cuda") else "float32"

    def run(self, ids: Sequence[Ints], weights: Sequence[Floats], want: Want) -> BatchOutput:
        """Encode one batch, or several if there are many texts. Raises DeviceLost."""
        with self._lock:
            return self._batches.run(ids, weights, want)
