"""PyTorch: every architecture, on every device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
import transformers

from semblance.models.embeddings import Floats, Want
from semblance.models.model_files.checkpoint import Checkpoint
from semblance.models.networks.agreement import probe_ids
from semblance.models.networks.device_errors import device_errors
from semblance.models.networks.torch_network import TorchNetwork
from semblance.models.runtime import Compute, Encoded, Precision, encoded
from semblance.models.text import Ints


class Torch:
    """The texts of a pass as one padded batch.

    In bfloat16 by autocast, which keeps sums and norms in float32: a text in a batch then stays closer to the same text
    alone.

    Raises:
        BadCheckpoint: see `TorchNetwork`.
    """

    def __init__(self, checkpoint: Checkpoint, compute: Compute) -> None:
        self._device = torch.device(compute.device)
        if compute.threads is not None:
            torch.set_num_threads(compute.threads)
        self._network = TorchNetwork(checkpoint).to(self._device)
        self._pooling = checkpoint.pooling
        self.facts = self._network.facts
        self.versions: Mapping[str, str] = {"torch": torch.__version__, "transformers": transformers.__version__}
        self.exact: Sequence[Floats] = ()
        self._precision: Precision = "float32"
        if compute.precision == "bfloat16":
            probes = probe_ids(checkpoint, self.facts)
            self.exact = self.run(probes, [np.ones(len(ids), np.float32) for ids in probes], "tokens").vectors
            self._precision = "bfloat16"

    @classmethod
    def fastest(cls, device: str) -> Precision:
        """Not every CPU multiplies bfloat16 by itself; without that it takes longer than float32."""
        return "bfloat16" if device.startswith("cuda") else "float32"

    def run(self, ids: Sequence[Ints], weights: Sequence[Floats], want: Want) -> Encoded:
        """One padded pass. Raises DeviceLost."""
        with device_errors(self._device):
            return self._run(ids, weights, want)

    def _run(self, ids: Sequence[Ints], weights: Sequence[Floats], want: Want) -> Encoded:
        lengths = [len(text) for text in ids]
        mask = np.arange(max(lengths)) < np.asarray(lengths)[:, None]
        padded = np.full(mask.shape, self.facts.pad_id, np.int64)
        padded[mask] = np.concatenate(ids)
        reduced = torch.autocast(self._device.type, torch.bfloat16, enabled=self._precision == "bfloat16")
        with torch.inference_mode(), reduced:
            given = [torch.from_numpy(each).to(self._device) for each in (padded, mask.astype(np.int64))]
            hidden = self._network(*given).float().cpu().numpy()
        return encoded(hidden[mask], lengths, weights, self._pooling, want)
