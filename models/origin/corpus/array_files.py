"""Arrays on disk: written piece by piece, read as memory maps."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from semblance.models.origin.errors import BadOrigin


class GrowingArray:
    """A .npy file of one dimension that grows at its end; it is whole once the block ends."""

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
        """Put values at the end, which must be of such a size that the type can hold them."""
        self._stream.write(values.astype(self._dtype).tobytes())
        self._length += len(values)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self._stream.seek(0)
            self._write_header()  # numpy leaves room in it for a longer shape
        self._stream.close()

    def _write_header(self) -> None:
        about = {"shape": (self._length,), "fortran_order": False, "descr": npy.dtype_to_descr(self._dtype)}
        npy.write_array_header_1_0(self._stream, about)


def mapped(file: Path, made_by: str, mode: Literal["r", "c"] = "r") -> NDArray[Any]:
    """The array of a .npy file, mapped into memory: to be read, or as a copy on write.

    Raises:
        BadOrigin: there is none, or it is broken; the message says which command makes it.
    """
    try:
        found = np.load(file, mmap_mode=mode, allow_pickle=False)
    except FileNotFoundError as error:
        raise BadOrigin(f"there is no {file}: make it by `{made_by}`") from error
    except (OSError, ValueError, EOFError) as error:
        raise BadOrigin(f"{file} cannot be read: {error}") from error
    return np.asarray(found)  # the same memory, without what makes each slice of a memmap slow
