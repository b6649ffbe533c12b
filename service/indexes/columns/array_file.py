"""Files of named arrays, written piece by piece and mapped into memory when they are read."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

_TYPES = {"U8": np.uint8, "U32": np.uint32, "I64": np.int64, "U64": np.uint64}  # names of the format -> of NumPy
_LENGTH_BYTES, _ALIGNMENT = 8, 8


class Pieces(NamedTuple):
    """A one-dimensional array in pieces, which are written one after the other, and its length."""

    dtype: str
    length: int
    pieces: Iterable[Array]


def in_one(array: Array) -> Pieces:
    """An array as one piece."""
    name = next(name for name, dtype in _TYPES.items() if dtype == array.dtype)
    return Pieces(name, len(array), [array])


def write_arrays(file: Path, arrays: Mapping[str, Pieces]) -> None:
    """Write arrays in the format of safetensors.

    Those of the longest numbers come first, so that all are aligned.

    Raises:
        OSError: the file could not be written.
    """
    ordered = sorted(arrays.items(), key=lambda each: -np.dtype(_TYPES[each[1].dtype]).itemsize)
    header: dict[str, Any] = {}
    end = 0
    for name, (dtype, length, _) in ordered:
        start, end = end, end + length * np.dtype(_TYPES[dtype]).itemsize
        header[name] = {"dtype": dtype, "shape": [length], "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    with file.open("wb") as stream:
        stream.write(len(text).to_bytes(_LENGTH_BYTES, "little"))
        stream.write(text)
        for _, (dtype, _, pieces) in ordered:
            for piece in pieces:
                stream.write(np.ascontiguousarray(piece, _TYPES[dtype]).data)


def map_arrays(file: Path) -> dict[str, Array]:
    """Map the arrays of a file, read-only: what is not read takes no memory.

    The file may be removed meanwhile, but must not be changed.

    Raises:
        OSError, ValueError, KeyError: it is no file of `write_arrays`.
    """
    with file.open("rb") as stream:
        content = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    start = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
    if start > len(content):
        raise ValueError(f"{file.name} is too short for its header")
    header = json.loads(content[_LENGTH_BYTES:start].tobytes())
    return {
        name: np.frombuffer(content[start + first : start + end], _TYPES[each["dtype"]])
        for name, each in header.items()
        for first, end in [each["data_offsets"]]
    }
