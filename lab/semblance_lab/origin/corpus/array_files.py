"""Arrays on disk: written piece by piece, read as memory maps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from semblance_lab.origin.errors import BadOrigin


@contextmanager
def growing_array(file: Path, dtype: DTypeLike) -> Iterator[Callable[[NDArray[Any]], None]]:
    """Function that appends values to a one-dimensional .npy file, which is complete after the `with` block.

    The values must fit the number type.
    """
    kind, length = np.dtype(dtype), 0

    def write_header() -> None:
        about = {"shape": (length,), "fortran_order": False, "descr": npy.dtype_to_descr(kind)}
        npy.write_array_header_1_0(stream, about)

    def append(values: NDArray[Any]) -> None:
        nonlocal length
        stream.write(values.astype(kind).tobytes())
        length += len(values)

    with file.open("wb") as stream:
        write_header()
        yield append
        stream.seek(0)
        write_header()  # numpy reserves space in it for a longer shape


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
