"""Read tensors of safetensors files as float32."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, deserialize

from semblance.models.embeddings import Floats
from semblance.models.errors import BadCheckpoint
from semblance.models.files.four_bit import BLOCK_BYTES, FourBit

_NUMPY = {"F64": np.float64, "F32": np.float32, "F16": np.float16}


def read_tensors(file: Path) -> dict[str, Floats]:
    """Tensors of floating-point numbers by name, in the order of their names, writable.

    Others, such as saved indices, are left out; matrices in blocks of four bits are read by `read_blocks`.

    NumPy has no bfloat16: its 16 bits are the upper half of a float32.

    Raises:
        BadCheckpoint: the file cannot be read, or is damaged.
    """
    found: dict[str, Floats] = {}
    for name, tensor in _tensors(file):
        data, shape = tensor["data"], tensor["shape"]
        if tensor["dtype"] == "BF16":
            found[name] = (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
        elif tensor["dtype"] in _NUMPY:
            numbers = np.frombuffer(data, _NUMPY[tensor["dtype"]]).reshape(shape)
            found[name] = numbers.astype(np.float32, copy=False)
    return found


def read_blocks(file: Path) -> dict[str, FourBit]:
    """Matrices in blocks of four bits by name, which are (rows, blocks, 18) bytes. Raises BadCheckpoint."""
    return {
        name: FourBit.of(np.frombuffer(tensor["data"], np.uint8).reshape(tensor["shape"]))
        for name, tensor in _tensors(file)
        if tensor["dtype"] == "U8" and len(tensor["shape"]) == 3 and tensor["shape"][-1] == BLOCK_BYTES
    }


def _tensors(file: Path) -> list[tuple[str, Any]]:
    """Name, and type, shape and bytes, of each tensor."""
    try:
        tensors = deserialize(file.read_bytes())  # type: ignore[no-untyped-call]
    except (OSError, SafetensorError) as error:
        raise BadCheckpoint(f"cannot load {file} ({error}): copy it again") from error
    return sorted(tensors, key=itemgetter(0))  # the library hands them out in random order
