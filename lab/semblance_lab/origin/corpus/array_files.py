"""Arrays on disk: written piece by piece, read as memory maps."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from semblance_lab.origin.errors import BadOrigin


class GrowingArray:
    """A one-dimensional .npy file that grows at its end; complete after the `with` block."""

    def __init__(self, file: Path, dtype: DTypeLike) -> None:
        self._file = file
        self._dtype = np.dtype(dtype)
        self._stream: BinaryIO
        self._length = 0

    def __enter__(self) -> GrowingArray:
        self._stream = self._file.open("wb")
        self._write_header()
        return self

    def append(self, values: NDArray[Any]) -> None:
        """Append values, which must fit the number type."""
        self._stream.write(values.astype(self._dtype).tobytes())
        self._length += len(values)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self._stream.seek(0)
            self._write_header()  # numpy reserves space in it for a longer shape
        self._stream.close()

    def _write_header(self) -> None:
        about = {"shape": (self._length,), "fortran_order": False, "descr": npy.dtype_to_descr(self._dtype)}
        npy.write_array_header_1_0(self._stream, about)


def open_mapped(file: Path, command: str, mode: Literal["r", "c"] = "r") -> NDArray[Any]:
    """Map the array of a .npy file into memory: read-only, or copy-on-write.

    Raises:
        BadOrigin: the file is missing or broken; the message names the `command` that creates it.
    """
    try:
        array = np.load(file, mmap_mode=mode, allow_pickle=False)
    except FileNotFoundError as error:
        raise BadOrigin(f"no such file: {file}; run `{command}`") from error
    except (OSError, ValueError, EOFError) as error:
        raise BadOrigin(f"{file} cannot be read: {error}") from error
    return np.asarray(array)  # the same memory; slices of np.memmap are slow
