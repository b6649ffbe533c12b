"""Files of named arrays, written piece by piece and mapped into memory when they are read."""

from __future__ import annotations

import hashlib
import json
import mmap
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

_TYPES = {"U8": np.uint8, "U32": np.uint32, "I64": np.int64, "U64": np.uint64}  # names of the format -> of NumPy
_LENGTH_BYTES, _ALIGNMENT = 8, 8
_COPIED_BYTES = 1 << 20  # at a time


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


class MappedArrays(Mapping[str, Array]):
    """The arrays of a file by name, read-only: what is not read takes no memory.

    They are those of a copy without a name, which is removed with its last reader: whatever happens to the file, arrays
    in use neither change nor end.

    Args:
        file: as `write_arrays` wrote it.
        sha256: digest of its content.

    Raises:
        OSError, ValueError, KeyError: the file is malformed, or its digest differs.
    """

    def __init__(self, file: Path, sha256: str) -> None:
        self._name, self._sha256 = file.name, sha256
        self._content = _copied(file)
        self.check()
        start = _LENGTH_BYTES + int.from_bytes(self._content[:_LENGTH_BYTES], "little")
        if start > len(self._content):
            raise ValueError(f"{file.name} is too short for its header")
        header = json.loads(self._content[_LENGTH_BYTES:start].tobytes())
        self._arrays = {
            name: np.frombuffer(self._content[start + first : start + end], _TYPES[each["dtype"]])
            for name, each in header.items()
            for first, end in [each["data_offsets"]]
        }

    def check(self) -> None:
        """Raise ValueError if the disk returns other bytes than were written."""
        if hashlib.sha256(self._content).hexdigest() != self._sha256:
            raise ValueError(f"{self._name} is damaged")

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


def _copied(file: Path) -> memoryview:
    """A copy of a file, mapped into memory; where the disk has no room for it, in memory."""
    with file.open("rb") as stream:
        try:
            with TemporaryFile(dir=file.parent) as copy:
                shutil.copyfileobj(stream, copy, _COPIED_BYTES)
                copy.flush()
                return memoryview(mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ))
        except OSError:
            stream.seek(0)
            return memoryview(stream.read())
