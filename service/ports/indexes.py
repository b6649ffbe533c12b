"""Ports of vector indexes: the index of a collection, the engine that holds its rows, and their snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, Self

from pyroaring import BitMap

from semblance.models.embeddings import Floats
from semblance.service.filters import Filter
from semblance.service.ports.device import ON_CPU, Device
from semblance.service.ports.documents import Change, Collection, CollectionSize, Version

ENGINES = "semblance.service.indexes.engines"  # the family in the catalogue of those who make VectorRows

AUTO = "auto"  # the index of a collection whose engine goes by the number of its documents


@dataclass(frozen=True, slots=True)
class Hit:
    """A document found, and how alike it is: higher is more alike."""

    id: str
    score: float


class VectorIndex(Protocol):
    """Vectors of one collection, by similarity. Derived from the store and rebuildable, never authoritative.

    Safe to call from several threads.
    """

    @property
    def version(self) -> Version:
        """The state of the store that it has seen completely; number 0 when new."""

    def apply(self, changes: Sequence[Change]) -> None:
        """Take over the latest state of some documents."""

    def advance(self, version: Version) -> None:
        """Note that every change up to `version` was applied."""

    def search(self, queries: Floats, k: int, where: Filter | None) -> tuple[Version, list[list[Hit]]]:
        """The k most similar documents for each of (q, d) unit queries, among those that match; best first.

        Fewer than k only where fewer match. Equal scores come in the order of ids; which of equals are among the k at
        its end is not defined. The version is that of the state that was searched; of many queries, some may have seen
        changes after it.
        """

    def vectors(self, ids: Sequence[str]) -> dict[str, Floats]:
        """(d,) vectors of those documents that it holds, by id."""

    def __len__(self) -> int:
        """Documents it holds."""

    @property
    def rows(self) -> int:
        """Rows it takes, those of replaced and deleted documents included."""

    @property
    def outgrown(self) -> bool:
        """Whether it should be built anew: for so many documents another engine is better, or too many rows are dead.

        Never true of an index just built for the documents it holds, nor after a few changes more.
        """


class VectorRows(Protocol):
    """Unit vectors under growing row numbers, from 0: the part of an index that engines differ in.

    Searches and reads may go on side by side, but none beside an addition.
    """

    name: ClassVar[str]
    """That of its file in the catalogue."""

    exact: ClassVar[bool]
    """Whether search finds the nearest whatever is allowed; an approximate engine may miss some."""

    suffix: ClassVar[str]
    """What its files end in."""

    def __init__(self, dim: int, expected: int = 0, device: Device = ON_CPU) -> None:
        """Empty; about `expected` rows are going to be added before anybody waits for it."""

    def outgrown(self, count: int) -> bool:
        """Whether one made for `count` rows would search better."""

    def add(self, vectors: Floats) -> None:
        """Append (n, d) rows."""

    def search(self, queries: Floats, k: int, allowed: BitMap) -> list[Sequence[int]]:
        """For each of (q, d) queries, up to k of the `allowed` rows, most similar first."""

    def rows(self, numbers: Sequence[int]) -> Floats:
        """(n, d) those rows."""

    def save(self, file: Path) -> None:
        """Write everything to `file`."""

    @classmethod
    def load(cls, file: Path, device: Device = ON_CPU) -> Self:
        """What `save` wrote. Raises OSError, ValueError, RuntimeError: it is something else."""

    def __len__(self) -> int:
        """Rows so far, allowed or not."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """How an index stands beside its collection: rows it takes, and versions that it has not seen yet."""

    collection: Collection
    size: CollectionSize
    rows: int
    lag: int


class Indexes(Protocol):
    """Makes the indexes of collections, and keeps snapshots of them on disk so that a start need not build them anew.

    Not for two threads at once with the same collection. A snapshot is never authoritative.
    """

    def new(self, collection: Collection, documents: int) -> VectorIndex:
        """An empty index for a collection that holds about so many documents."""

    def load(self, collection: Collection) -> VectorIndex | None:
        """The snapshot of a collection's index, of now or before; None, and the log says why, if none is of use."""

    def discard(self, name: str) -> None:
        """Remove the snapshot of a collection, so that it is never loaded again. Raises OSError."""

    def save(self, collection: Collection, index: VectorIndex) -> None:
        """Keep a snapshot. Raises OSError, RuntimeError: it could not be written; the one before is still there."""

    def keep_only(self, names: Sequence[str]) -> None:
        """Remove the snapshots of other collections."""
