"""What encodes sentences in a process: this project's encoder, and sentence-transformers, with the same model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias, cast, get_args

import numpy as np
import torch

from benchmarks.peers.servers import MODEL, model_folder
from models import catalogue
from models.embeddings import Floats
from models.runtime import RUNTIMES, Compute, Precision
from service.served_models import read_source

BATCH = 32
Encode: TypeAlias = Callable[[Sequence[str]], Floats]  # b texts to (b, d)


def _semblance(runtime: str, precision: Precision) -> Encode:
    """Batches of texts of like length, as a service makes them of waiting texts."""
    encoder = read_source(MODEL).load(MODEL, Compute("cpu", precision, runtime))

    def encode(texts: Sequence[str]) -> Floats:
        tokenized = encoder.tokenize(texts, "document", "END")
        order = sorted(range(len(texts)), key=lambda i: len(tokenized[i]))
        vectors = np.empty((len(texts), encoder.dim), np.float32)
        for start in range(0, len(order), BATCH):
            some = order[start : start + BATCH]
            vectors[some] = [each.pooled() for each in encoder.encode([tokenized[i] for i in some], "pooled")]
        return vectors

    return encode


def _sentence_transformers(precision: Precision) -> Encode:
    """Its defaults, which are batches of 32 by length too."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - no other encoder shall wait for it

    kind = {"dtype": getattr(torch, precision)}
    model = SentenceTransformer(str(model_folder()), device="cpu", model_kwargs=kind, local_files_only=True)

    def encode(texts: Sequence[str]) -> Floats:
        return cast("Floats", model.encode(list(texts), batch_size=BATCH, show_progress_bar=False))

    return encode


REFERENCE = "sentence-transformers float32"
PEERS: Mapping[str, Callable[[], Encode]] = {
    REFERENCE: partial(_sentence_transformers, "float32"),
    "sentence-transformers bfloat16": partial(_sentence_transformers, "bfloat16"),
}
OURS: Mapping[str, Callable[[], Encode]] = {
    f"semblance {runtime} {precision}": partial(_semblance, runtime, precision)
    for runtime in catalogue.names(RUNTIMES)
    for precision in get_args(Precision)
}
CONTESTANTS = {**OURS, **PEERS}
