"""What the engines made of FAISS share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import faiss
import numpy as np

from semblance.models.embeddings import Floats
from semblance.service.indexes.row_numbers import Numbers
from semblance.service.ports.device import ON_CPU, Device


class FaissRows:
    """Rows in a FAISS index of inner products, whose numbers are those of the rows.

    An engine says how to search it, and how it begins, if not as all vectors one after another.
    """

    suffix: ClassVar[str] = "faiss"
    kinds: ClassVar[tuple[type[Any], ...]]  # what its file may hold

    _index: Any  # FAISS's type stubs describe the C++ calls, not the Python ones that wrap them

    def __init__(self, dim: int, expected: int = 0, device: Device = ON_CPU) -> None:  # noqa: ARG002 - they need none
        self._index = self._empty(dim)
        self._expected = expected

    def add(self, vectors: Floats) -> None:
        """Append (n, d) rows."""
        use_one_thread()
        self._index.add(np.ascontiguousarray(vectors, np.float32))

    def outgrown(self, count: int) -> bool:  # noqa: ARG002 - most engines suit any number
        """Whether one made for `count` rows would search better."""
        return False

    def rows(self, numbers: Sequence[int]) -> Floats:
        """(n, d) those rows."""
        found: Floats = self._index.reconstruct_batch(np.asarray(numbers, np.int64))
        return found

    def save(self, file: Path) -> None:
        """Write everything to `file`."""
        faiss.write_index(self._index, str(file))

    @classmethod
    def load(cls, file: Path, device: Device = ON_CPU) -> Self:  # noqa: ARG003 - they need none
        """What `save` wrote. Raises ValueError, RuntimeError: it is something else."""
        index = faiss.read_index(str(file))
        if not isinstance(index, cls.kinds) or index.metric_type != faiss.METRIC_INNER_PRODUCT:
            raise ValueError(f"{file.name} holds a {type(index).__name__}, not what {cls.__name__} writes")
        rows = cls(index.d)
        rows._index = index
        return rows

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def _empty(self, dim: int) -> Any:
        return faiss.IndexFlatIP(dim)

    def _nearest(self, queries: Floats, k: int, parameters: Any = None) -> list[Numbers]:
        """For each of (q, d) queries, up to k rows that FAISS finds with those parameters, most similar first."""
        use_one_thread()
        _, found = self._index.search(np.ascontiguousarray(queries, np.float32), k, params=parameters)
        return [rows[rows >= 0] for rows in found]


def use_one_thread() -> None:
    """FAISS's own thread pool would fight with torch's for the same cores. OpenMP keeps this number for each thread."""
    faiss.omp_set_num_threads(1)
