"""`semblance serve` on a device that is lost when a text says so: what CUDA does after an illegal access."""

from __future__ import annotations

import torch
from tokenizers import Tokenizer

from semblance.models.networks import device_errors
from semblance.models.networks.torch_network import TorchNetwork
from semblance.service.cli.main import app

forward = TorchNetwork.forward


def fragile(
    self: TorchNetwork, input_ids: torch.Tensor, attention_mask: torch.Tensor, types: torch.Tensor | None = None
) -> torch.Tensor:
    tokenizer = Tokenizer.from_str(self.facts.tokenizer)
    if any("unplug it" in tokenizer.decode(text) for text in input_ids.tolist()):
        device_errors._responds = lambda device: False  # noqa: ARG005 - it answers no more
        raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered")
    return forward(self, input_ids, attention_mask, types)


if __name__ == "__main__":
    TorchNetwork.forward = fragile  # type: ignore[method-assign]
    app()
