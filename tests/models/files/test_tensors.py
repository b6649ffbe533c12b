"""Tensors of a safetensors file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from semblance.models.files.tensors import read_tensors


def test_tensors_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    """So an error about a file names the same tensor each time."""
    names = [f"layer.{number:02}" for number in range(40)]
    save_file({name: np.zeros(2, np.float32) for name in reversed(names)}, tmp_path / "weights.safetensors")
    assert list(read_tensors(tmp_path / "weights.safetensors")) == names
