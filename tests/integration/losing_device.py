"""`semblance serve` on a device that is lost when a text says so: what CUDA does after an illegal access."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from tokenizers import Tokenizer

from semblance.models.embeddings import Floats, Want
from semblance.models.networks import device_errors
from semblance.models.runtime import Encoded
from semblance.models.runtimes.torch import Torch
from semblance.models.text import Ints
from semblance.service.cli.main import app

run = Torch._run


def fragile(self: Torch, ids: Sequence[Ints], weights: Sequence[Floats], want: Want) -> Encoded:
    tokenizer = Tokenizer.from_str(self.facts.tokenizer)
    if any("unplug it" in tokenizer.decode(text.tolist()) for text in ids):
        device_errors._answers = lambda device: False  # noqa: ARG005 - it answers no more
        raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered")
    return run(self, ids, weights, want)


if __name__ == "__main__":
    Torch._run = fragile  # type: ignore[method-assign]
    app()
