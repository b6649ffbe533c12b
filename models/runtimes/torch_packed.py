"""PyTorch without padding: the fastest on GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import transformers

from semblance.models.embeddings import Floats, Want
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.networks.agreement import probe_ids
from semblance.models.networks.packed_batches import PackedPasses
from semblance.models.networks.torch_network import TorchNetwork
from semblance.models.runtime import Compute, Encoded, Precision
from semblance.models.text import Ints


class TorchPacked:
    """The texts of a pass as one sequence, see `PackedPasses`; for architectures whose attention can be bounded.

    Raises:
        BadCheckpoint: see `TorchNetwork`.
        NotExportable, DeviceLost: see `PackedPasses`.
    """

    def __init__(self, checkpoint: Checkpoint, compute: Compute) -> None:
        if compute.threads is not None:
            torch.set_num_threads(compute.threads)
        network = TorchNetwork(checkpoint).to(compute.device)
        self.facts = network.facts
        self.versions: Mapping[str, str] = {"torch": torch.__version__, "transformers": transformers.__version__}
        self.exact: Sequence[Floats] = [network.alone(ids) for ids in probe_ids(checkpoint, self.facts)]
        self._passes = PackedPasses(
            network.network, network.head, checkpoint.pooling, compute.device, compute.precision
        )

    @classmethod
    def fastest(cls, device: str) -> Precision:
        """The kernel of attention computes in bfloat16."""
        return "bfloat16" if device.startswith("cuda") else "float32"

    def run(self, ids: Sequence[Ints], weights: Sequence[Floats], want: Want) -> Encoded:
        """One pass, or several where the texts are many. Raises DeviceLost."""
        return self._passes.run(ids, weights, want)
