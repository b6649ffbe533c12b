"""Read tensors of safetensors files as float32, and check them without loading them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from safetensors import SafetensorError, safe_open

from semblance.models.embeddings import Floats
from semblance.models.errors import BadCheckpoint
from semblance.models.files.four_bit import BLOCK_BYTES, FourBit

Shape: TypeAlias = tuple[int, ...]

_EXPONENTS: Mapping[
    str, np.unsignedinteger[Any]
] = {  # of a number type: unsigned integers of its size, and the bits that are all 1 if it is not finite
    "F64": np.uint64(0x7FF << 52),
    "F32": np.uint32(0xFF << 23),
    "F16": np.uint16(0x1F << 10),
    "BF16": np.uint16(0xFF << 7),
}
_BLOCK = 1 << 22  # numbers that are checked at a time
_NUMPY = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.uint16, "U8": np.uint8}


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
    entries, found = _entries(file), Weights({}, {})
    try:
        with file.open("rb") as stream:
            start = 8 + int.from_bytes(stream.read(8), "little")  # behind the header
            for name, entry in sorted(entries.items()):
                dtype, shape = entry["dtype"], entry["shape"]
                if dtype not in _NUMPY:
                    continue
                stream.seek(start + entry["data_offsets"][0])
                tensor = np.fromfile(stream, _NUMPY[dtype], math.prod(shape)).reshape(shape)
                if dtype == "BF16":
                    found.numbers[name] = (tensor.astype(np.uint32) << 16).view(np.float32)
                elif dtype != "U8":
                    found.numbers[name] = tensor.astype(np.float32, copy=False)
                elif tensor.ndim == 3 and shape[-1] == BLOCK_BYTES:
                    found.blocks[name] = FourBit.of(tensor)
    except (OSError, ValueError) as error:  # the latter if the file has become shorter
        raise BadCheckpoint(f"cannot load {file} ({error}): copy it again") from error
    return found


def read_tensors(file: Path) -> dict[str, Floats]:
    """Tensors of floating-point numbers, as `read_weights` reads them. Raises BadCheckpoint."""
    return read_weights(file).numbers


def shapes_of(file: Path) -> dict[str, Shape]:
    """Shape of each tensor, by its name; of blocks of four bits, that of the matrix.

    Raises:
        BadCheckpoint: the file cannot be read, or is damaged.
    """
    shapes = {name: (entry["dtype"], tuple(entry["shape"])) for name, entry in _entries(file).items()}
    return {
        name: (shape[0], 32 * shape[1]) if kind == "U8" and shape[2:] == (BLOCK_BYTES,) else shape
        for name, (kind, shape) in shapes.items()
    }


def require_finite(file: Path) -> None:
    """Reject a file with infinite numbers, or with some that are none.

    Raises:
        BadCheckpoint: names the tensor; or the file cannot be read, or is damaged.
    """
    entries = _entries(file)
    if not entries:
        return
    size = max(entry["data_offsets"][1] for entry in entries.values())
    data = np.memmap(file, np.uint8, mode="r", offset=file.stat().st_size - size)
    for name, entry in entries.items():
        bits = _EXPONENTS.get(entry["dtype"])
        if bits is None:
            continue
        start, end = entry["data_offsets"]
        numbers = data[start:end].view(bits.dtype)
        for at in range(0, len(numbers), _BLOCK):
            if ((numbers[at : at + _BLOCK] & bits) == bits).any():
                raise BadCheckpoint(f"{file} has numbers that are not finite, in {name}: it is damaged, copy it again")


def _entries(file: Path) -> dict[str, Any]:
    """The header of a file, which the library finds sound. Raises BadCheckpoint."""
    try:
        with safe_open(file, "numpy"), file.open("rb") as stream:
            header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
    except (OSError, SafetensorError) as error:
        raise BadCheckpoint(f"cannot load {file} ({error}): copy it again") from error
    header.pop("__metadata__", None)
    return dict(header)
