"""Sentences of a corpus in the order of their documents, and arrays, memory-mapped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from semblance.models.files.digests import file_sha256
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.origin_folder import CorpusPart


@contextmanager
def growing_array(file: Path, dtype: DTypeLike) -> Iterator[Callable[[NDArray[Any]], None]]:
    """Function that appends values to a one-dimensional .npy file.

    The values must fit the number type. The file is complete after the `with` block.
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


DOCUMENTS = "documents.json"
COLUMNS = pa.schema([("text", pa.string()), ("document", pa.int32()), ("run", pa.int32()), ("chunk", pa.int32())])


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """One part of a corpus: n sentences in a memory-mapped file.

    Sentences are numbered 0 to n - 1, in the order of documents and of positions in them. A run is an uninterrupted
    sequence of sentences of a document; a chunk is a section of a run. Documents, runs and chunks are numbered from 0
    in each part. Memory: twelve bytes per sentence, and the names of the documents.

    Attributes:
        file: path of the sentences.
        part: which part it is.
        document: (n,) the document of each sentence.
        run: (n,) the run of each sentence.
        chunk: (n,) the chunk of each sentence; all three ascend.
        names: of the documents.
    """

    file: Path
    part: CorpusPart
    document: NDArray[np.int32]
    run: NDArray[np.int32]
    chunk: NDArray[np.int32]
    names: Sequence[str]
    _texts: pa.ChunkedArray

    @classmethod
    def open(cls, folder: Path, part: CorpusPart = "train") -> Corpus:
        """Open a part of the corpus in a folder such as `runs/origin/corpus`.

        Raises:
            BadOrigin: it is missing or broken.
        """
        file = folder / f"{part}.arrow"
        try:
            names = _names(folder / DOCUMENTS)[part]
            with pa.memory_map(str(file)) as source:
                table = pa.ipc.open_file(source).read_all()
        except FileNotFoundError as error:
            raise BadOrigin(f"{folder} contains no corpus; run `semblance origin corpus`") from error
        except (OSError, ValueError, KeyError) as error:
            raise BadOrigin(f"{file} cannot be read: {error}") from error
        if not table.schema.equals(COLUMNS):
            raise BadOrigin(f"{file} is not a corpus: its columns are {', '.join(table.column_names)}")
        document, run, chunk = (_numbers(table[name]) for name in COLUMNS.names[1:])
        return cls(file, part, document, run, chunk, names, table["text"])

    def __len__(self) -> int:
        return len(self.document)

    def __iter__(self) -> Iterator[str]:
        """Yield every sentence in order, with one batch of the file in memory at a time."""
        for batch in self._texts.chunks:
            yield from batch.to_pylist()

    @property
    def digest(self) -> str:
        """SHA-256 of its file, in hexadecimal."""
        return file_sha256(self.file)

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return int(self.chunk[-1]) + 1 if len(self) else 0

    def text(self, i: int) -> str:
        """Sentence i."""
        text: str = self._texts[int(i)].as_py()
        return text

    def texts(self, numbers: Sequence[int] | NDArray[np.integer[Any]]) -> list[str]:
        """The sentences with these numbers, in this order."""
        return [self.text(i) for i in np.asarray(numbers).tolist()]  # `take` of many batches is six times slower

    def contexts(self) -> NDArray[np.int64]:
        """Numbers of all sentences with both neighbors in their run, ascending."""
        inner = (self.run[:-2] == self.run[1:-1]) & (self.run[1:-1] == self.run[2:])
        numbers: NDArray[np.int64] = np.flatnonzero(inner) + 1
        return numbers


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int32]:
    numbers: NDArray[np.int32] = np.array(column.to_numpy(), np.int32)
    numbers.setflags(write=False)
    return numbers


def _names(file: Path) -> Mapping[str, Sequence[str]]:
    names: Mapping[str, Sequence[str]] = json.loads(file.read_text("utf-8"))
    return names
