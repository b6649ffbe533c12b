"""`semblance serve` on a device that is lost when a text says so: what CUDA does after an illegal access."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from tokenizers import Tokenizer

from models import lost_device
from models.embeddings import Floats, Want
from models.runtime import Encoded
from models.runtimes.torch import Torch
from models.text import Ints
from service.cli.main import app

run = Torch._run


def fragile(self: Torch, ids: Sequence[Ints], weights: Sequence[Floats], want: Want) -> Encoded:
    tokenizer = Tokenizer.from_str(self.facts.tokenizer)
    if any("unplug it" in tokenizer.decode(text.tolist()) for text in ids):
        lost_device._answers = lambda device: False  # noqa: ARG005 - it answers no more
        raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered")
    return run(self, ids, weights, want)


if __name__ == "__main__":
    Torch._run = fragile  # type: ignore[method-assign]
    app()
