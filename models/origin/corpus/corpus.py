"""Sentences in the order of their documents, on disk."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semblance.models.files.digests import file_sha256
from semblance.models.origin.errors import BadOrigin

Part: TypeAlias = Literal["train", "held_out"]

PARTS: tuple[Part, ...] = ("train", "held_out")
DOCUMENTS = "documents.json"
COLUMNS = pa.schema([("text", pa.string()), ("document", pa.int32()), ("run", pa.int32()), ("chunk", pa.int32())])


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """One part of a corpus: n sentences that lie in a file, which is mapped into memory and read where it is asked for.

    Sentences are numbered 0 to n - 1, in the order of documents and of places in them. A run is an unbroken stretch of
    sentences that follow each other in a document; a chunk is a stretch of a run. Documents, runs and chunks are
    numbered from 0 in each part. Twelve bytes a sentence are held in memory, and the names of the documents.

    Attributes:
        file: where it lies.
        part: which one it is.
        document: (n,) the document of each sentence.
        run: (n,) the run of each sentence.
        chunk: (n,) the chunk of each sentence; both ascend.
        names: of the documents.
    """

    file: Path
    part: Part
    document: NDArray[np.int32]
    run: NDArray[np.int32]
    chunk: NDArray[np.int32]
    names: Sequence[str]
    _texts: pa.ChunkedArray

    @classmethod
    def open(cls, folder: Path, part: Part = "train") -> Corpus:
        """A part of the corpus in that folder, such as `runs/origin/corpus`.

        Raises:
            BadOrigin: there is none, or its files are broken.
        """
        file = folder / f"{part}.arrow"
        try:
            names = _names(folder / DOCUMENTS)[part]
            with pa.memory_map(str(file)) as source:
                table = pa.ipc.open_file(source).read_all()
        except FileNotFoundError as error:
            raise BadOrigin(f"{folder} holds no corpus: make it by `semblance origin corpus`") from error
        except (OSError, ValueError, KeyError) as error:
            raise BadOrigin(f"{file} cannot be read: {error}") from error
        if not table.schema.equals(COLUMNS):
            raise BadOrigin(f"{file} is no corpus: its columns are {', '.join(table.column_names)}")
        document, run, chunk = (_numbers(table[name]) for name in COLUMNS.names[1:])
        return cls(file, part, document, run, chunk, names, table["text"])

    def __len__(self) -> int:
        return len(self.document)

    def __iter__(self) -> Iterator[str]:
        """Every sentence in order, a batch of the file in memory at a time."""
        for batch in self._texts.chunks:
            yield from batch.to_pylist()

    @property
    def digest(self) -> str:
        """SHA-256 of its file, in hexadecimal."""
        return file_sha256(self.file)

    @property
    def chunks(self) -> int:
        """How many chunks it has."""
        return int(self.chunk[-1]) + 1 if len(self) else 0

    def text(self, i: int) -> str:
        """Sentence i."""
        text: str = self._texts[int(i)].as_py()
        return text

    def texts(self, numbers: Sequence[int] | NDArray[np.integer[Any]]) -> list[str]:
        """The sentences of these numbers, in their order."""
        return [self.text(i) for i in np.asarray(numbers).tolist()]  # `take` of many batches is six times slower

    def contexts(self) -> NDArray[np.int64]:
        """Ascending, the numbers of all sentences that have both neighbours, the one before and the one after them."""
        inner = (self.run[:-2] == self.run[1:-1]) & (self.run[1:-1] == self.run[2:])
        found: NDArray[np.int64] = np.flatnonzero(inner) + 1
        return found


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int32]:
    found: NDArray[np.int32] = np.array(column.to_numpy(), np.int32)
    found.setflags(write=False)
    return found


def _names(file: Path) -> Mapping[str, Sequence[str]]:
    found: Mapping[str, Sequence[str]] = json.loads(file.read_text("utf-8"))
    return found
