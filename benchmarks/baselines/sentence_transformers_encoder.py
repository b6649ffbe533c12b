"""Encode by `SentenceTransformer.encode` with its defaults, as documents: batches of 32 by length.

python -m benchmarks.baselines.sentence_transformers_encoder MODEL BACKEND PRECISION
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from benchmarks.baselines.encoder_process import Encode, serve_encoder

Backend: TypeAlias = Literal["torch", "onnx", "openvino"]
HINTS = {"float32": "f32", "bfloat16": "bf16"}
MODEL_OPTIONS: Mapping[Backend, Callable[[str], dict[str, Any]]] = {
    "torch": lambda precision: {"dtype": getattr(torch, precision)},
    "onnx": lambda _: {"provider": "CPUExecutionProvider", "export": True},
    "openvino": lambda precision: {"ov_config": {"INFERENCE_PRECISION_HINT": HINTS[precision]}, "export": True},
}


def load() -> Encode:
    """Load the model named by the arguments; backends other than torch export it first."""
    folder, name, precision = sys.argv[1:]
    backend = cast("Backend", name)
    options = MODEL_OPTIONS[backend](precision)
    model = SentenceTransformer(folder, device="cpu", backend=backend, model_kwargs=options, local_files_only=True)

    prompt = model.prompts.get("document")

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        return cast("NDArray[np.float32]", model.encode(list(texts), prompt=prompt, show_progress_bar=False))

    return encode


if __name__ == "__main__":
    serve_encoder(load)
