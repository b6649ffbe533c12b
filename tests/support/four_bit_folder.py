"""A small model folder with weights of four bits, made by NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from semblance.models.embeddings import Floats
from tests.support.small_model import edit

BLOCK = 32


def blocks_of(matrix: Floats) -> NDArray[np.uint8]:
    """(r, c) -> (r, c / 32, 18) blocks of the nearest numbers of four bits."""
    numbers = matrix.reshape(len(matrix), -1, BLOCK)
    scales = (np.abs(numbers).max(axis=2, keepdims=True) / 7).astype(np.float16)
    codes = np.clip(np.round(numbers / np.maximum(scales, np.float16(1e-7))) + 8, 0, 15).astype(np.uint8)
    halves = codes[:, :, :16] | codes[:, :, 16:] << 4
    return np.concatenate([scales.view(np.uint8), halves], axis=2)


def quantize(folder: Path) -> None:
    """Write the matrices and the table of words of a folder in four bits."""
    file = folder / "model.safetensors"
    weights = load_file(file)
    words = ("word_embeddings.weight", "dense.weight", "query.weight", "key.weight", "value.weight")
    save_file({name: blocks_of(each) if name.endswith(words) else each for name, each in weights.items()}, file)
    edit(folder / "config.json", quantization_config={"quant_method": "q4_0"})
