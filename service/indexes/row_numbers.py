"""Row numbers as NumPy and FAISS take them."""

from __future__ import annotations

from typing import Any, TypeAlias

import faiss
import numpy as np
from pyroaring import BitMap

Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]


def numbers_of(rows: BitMap) -> Numbers:
    """In order. `np.array(rows)` would ask for them one by one, which takes 0.1 s for a million."""
    return np.asarray(rows.to_array(), np.uint32).astype(np.int64)


def selector(allowed: BitMap, count: int) -> Any:
    """What tells FAISS the allowed ones of `count` rows; None if all are."""
    if len(allowed) == count:
        return None
    most = 2 * len(allowed) > count  # then those that are not are quicker to go through
    flags = np.full(count, most)
    flags[numbers_of(others(allowed, count) if most else allowed)] = not most
    bits = np.packbits(flags, bitorder="little")  # one a row, the lowest first
    return faiss.IDSelectorBitmap(bits)  # type: ignore[call-arg, arg-type]


def others(allowed: BitMap, count: int) -> BitMap:
    """Those of `count` rows that are not allowed."""
    return allowed.flip(0, count)
