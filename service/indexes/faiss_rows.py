"""Base class of the FAISS engines, and conversion of row bitmaps to FAISS selectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import faiss
import numpy as np
from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.service.indexes.postings import RowNumbers, row_numbers
from semblance.service.ports.device import ON_CPU, Device


class FaissRows:
    """Rows in a FAISS index of inner products, under the same numbers.

    A subclass adds `search`, and overrides `_empty` if it does not start as a flat index.
    """

    rounds: ClassVar[bool] = False
    suffix: ClassVar[str] = "faiss"
    kinds: ClassVar[tuple[type[Any], ...]]  # FAISS classes that its file may contain

    _index: Any  # FAISS's stubs type the C++ calls, not their Python wrappers

    def __init__(self, dim: int, expected: int = 0, device: Device = ON_CPU) -> None:
        self._index = self._empty(dim)
        self._expected = expected
        self._cores = device.cores

    @staticmethod
    def row_bytes(dim: int) -> int:
        """Bytes of memory of a row of d numbers; a subclass adds those of its links or lists."""
        return 4 * dim

    def add(self, vectors: Floats) -> None:
        """Append (n, d) rows."""
        use_threads(1)
        self._index.add(np.ascontiguousarray(vectors, np.float32))

    def outgrown(self, count: int) -> bool:  # noqa: ARG002 - suits any number, unless overridden
        """Whether an instance created for `count` rows would search better."""
        return False

    def rounded(self, vectors: Floats) -> Floats:
        """The rows that would be stored for (n, d) vectors: themselves, unless overridden."""
        return vectors

    def rows(self, numbers: Sequence[int] | RowNumbers) -> Floats:
        """Get (n, d) rows by number."""
        rows: Floats = self._index.reconstruct_batch(np.asarray(numbers, np.int64))
        return rows

    def save(self, file: Path) -> None:
        """Write all rows to `file`. Raises OSError.

        Python writes, not FAISS: on a full disk FAISS leaves a short file, and only prints the error to the log.
        """
        with file.open("wb") as stream:
            faiss.write_index(self._index, faiss.PyCallbackIOWriter(stream.write))  # type: ignore[attr-defined]

    @classmethod
    def load(cls, file: Path, device: Device = ON_CPU) -> Self:
        """Read a file that `save` wrote. Raises ValueError, RuntimeError for any other file."""
        index = faiss.read_index(str(file))
        if not isinstance(index, cls.kinds) or index.metric_type != faiss.METRIC_INNER_PRODUCT:
            raise ValueError(f"{file.name} contains a {type(index).__name__}, which {cls.__name__} does not write")
        rows = cls(index.d, device=device)
        rows._index = index
        return rows

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def _empty(self, dim: int) -> Any:
        return faiss.IndexFlatIP(dim)

    def _nearest(self, queries: Floats, k: int, parameters: Any = None, threads: int = 1) -> list[RowNumbers]:
        """Find up to k rows for each of (q, d) queries by FAISS, most similar first."""
        use_threads(threads)
        _, nearest = self._index.search(np.ascontiguousarray(queries, np.float32), k, params=parameters)
        return [rows[rows >= 0] for rows in nearest]  # FAISS pads with -1


def use_threads(count: int) -> None:
    """Limit the threads of FAISS for its calls from this thread.

    By default it takes every core, and its pool competes with torch's.
    """
    faiss.omp_set_num_threads(count)


def flat_rows(flat: Any) -> Floats:
    """(n, d) view of the rows of a flat index."""
    flat = faiss.downcast_index(flat)
    rows: Floats = faiss.rev_swig_ptr(flat.get_xb(), flat.ntotal * flat.d).reshape(flat.ntotal, flat.d)
    return rows


def selector(allowed: BitMap, count: int) -> Any:
    """Convert allowed rows, of `count`, to a FAISS selector; None if all are allowed."""
    if len(allowed) == count:
        return None
    most = 2 * len(allowed) > count  # then setting the others takes less time
    flags = np.full(count, most)
    flags[row_numbers(complement(allowed, count) if most else allowed)] = not most
    bits = np.packbits(flags, bitorder="little")  # one a row, the lowest first
    return faiss.IDSelectorBitmap(bits)  # type: ignore[call-arg, arg-type]


def complement(allowed: BitMap, count: int) -> BitMap:
    """Rows, of `count`, that are not allowed."""
    return allowed.flip(0, count)
