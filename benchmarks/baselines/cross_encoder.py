"""Score pairs by `CrossEncoder.predict` of sentence-transformers in batches of 32.

python -m benchmarks.baselines.cross_encoder MODEL PRECISION
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import CrossEncoder

from benchmarks.baselines.encoder_process import Encode, serve_encoder

BATCH = 32


def load() -> Encode:
    """Load the model named by the arguments: from c + 1 texts to (c,) scores of the first with each other one."""
    folder, precision = sys.argv[1:]
    options = {"dtype": getattr(torch, precision)}
    model = CrossEncoder(folder, device="cpu", model_kwargs=options, local_files_only=True)

    def score(texts: Sequence[str]) -> NDArray[np.float32]:
        pairs = [(texts[0], text) for text in texts[1:]]
        return np.asarray(model.predict(pairs, batch_size=BATCH, show_progress_bar=False), np.float32)

    return score


if __name__ == "__main__":
    serve_encoder(load)
