"""`semblance serve` on a device that is lost when a text says so: what CUDA does after an illegal access."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from models.embeddings import TokenEmbeddings, Want
from models.encoders.transformer import Transformer
from models.text import TokenizedText
from service.cli.main import app

encode = Transformer._encode


def fragile(self: Transformer, tokenized: Sequence[TokenizedText], want: Want) -> list[TokenEmbeddings]:
    if any("unplug it" in text.text for text in tokenized):
        raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered")
    return encode(self, tokenized, want)


if __name__ == "__main__":
    Transformer._encode = fragile  # type: ignore[method-assign]
    app()
