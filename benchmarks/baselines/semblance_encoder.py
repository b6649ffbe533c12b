"""Encode by this project's encoder in batches by length, as the service does.

python -m benchmarks.baselines.semblance_encoder MODEL RUNTIME PRECISION
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import cast

import numpy as np

from benchmarks.baselines.encoder_process import Encode, serve_encoder
from semblance.models.embeddings import Floats, Precision
from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import read_source

BATCH = 32


def load() -> Encode:
    """Load the encoder named by the arguments."""
    model, runtime, precision = sys.argv[1:]
    encoder = read_source(model).load(model, Compute("cpu", cast("Precision", precision), runtime))

    def encode(texts: Sequence[str]) -> Floats:
        tokenized = encoder.tokenize(texts, "document", "END")
        order = sorted(range(len(texts)), key=lambda i: len(tokenized[i]))
        vectors = np.empty((len(texts), encoder.dim), np.float32)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            vectors[batch] = [each.pooled() for each in encoder.encode([tokenized[i] for i in batch], "pooled")]
        return vectors

    return encode


if __name__ == "__main__":
    serve_encoder(load)
