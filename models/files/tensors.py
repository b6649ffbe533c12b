"""Read tensors of safetensors files as float32."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors import SafetensorError, deserialize

from semblance.models.embeddings import Floats
from semblance.models.errors import BadCheckpoint
from semblance.models.files.four_bit import BLOCK_BYTES, FourBit

_NUMPY = {"F64": np.float64, "F32": np.float32, "F16": np.float16}


class Weights(NamedTuple):
    """Tensors of a file by name, in the order of their names.

    Attributes:
        numbers: those of floating-point numbers, as float32, writable.
        blocks: matrices in blocks of four bits, which are uint8 of the shape (rows, blocks of a row, 18).
    """

    numbers: dict[str, Floats]
    blocks: dict[str, FourBit]

    def dequantized(self) -> dict[str, Floats]:
        """All tensors as float32."""
        return self.numbers | {name: matrix.numbers() for name, matrix in self.blocks.items()}


def read_weights(file: Path) -> Weights:
    """Read the weights of a network.

    Tensors of other types, such as saved indices, are left out. NumPy has no bfloat16: its 16 bits are the upper half
    of a float32.

    Raises:
        BadCheckpoint: the file cannot be read, or is damaged.
    """
    try:
        tensors = deserialize(file.read_bytes())  # type: ignore[no-untyped-call]
    except (OSError, SafetensorError) as error:
        raise BadCheckpoint(f"cannot load {file} ({error}): copy it again") from error
    found = Weights({}, {})
    for name, tensor in sorted(tensors, key=itemgetter(0)):  # the library hands them out in random order
        data, shape, dtype = tensor["data"], tensor["shape"], tensor["dtype"]
        if dtype == "BF16":
            numbers = (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
            found.numbers[name] = numbers.reshape(shape)
        elif dtype in _NUMPY:
            found.numbers[name] = np.frombuffer(data, _NUMPY[dtype]).reshape(shape).astype(np.float32, copy=False)
        elif dtype == "U8" and len(shape) == 3 and shape[-1] == BLOCK_BYTES:
            found.blocks[name] = FourBit.of(np.frombuffer(data, np.uint8).reshape(shape))
    return found


def read_tensors(file: Path) -> dict[str, Floats]:
    """Tensors of floating-point numbers, as `read_weights` reads them. Raises BadCheckpoint."""
    return read_weights(file).numbers
