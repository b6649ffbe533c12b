"""Encode by `SentenceTransformer.encode` with its defaults, which are batches of 32 by length too.

python -m benchmarks.peers.sentence_transformers_encoder MODEL BACKEND PRECISION
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from benchmarks.peers.encoder_process import Encode, answer

Backend: TypeAlias = Literal["torch", "onnx", "openvino"]
HINTS = {"float32": "f32", "bfloat16": "bf16"}
KINDS: Mapping[Backend, Callable[[str], dict[str, Any]]] = {
    "torch": lambda precision: {"dtype": getattr(torch, precision)},
    "onnx": lambda _: {"provider": "CPUExecutionProvider", "export": True},
    "openvino": lambda precision: {"ov_config": {"INFERENCE_PRECISION_HINT": HINTS[precision]}, "export": True},
}


def loaded() -> Encode:
    """The model that the arguments name; the backends other than torch have it exported first."""
    folder, named, precision = sys.argv[1:]
    backend = cast("Backend", named)
    kind = KINDS[backend](precision)
    model = SentenceTransformer(folder, device="cpu", backend=backend, model_kwargs=kind, local_files_only=True)

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        return cast("NDArray[np.float32]", model.encode(list(texts), show_progress_bar=False))

    return encode


if __name__ == "__main__":
    answer(loaded)
