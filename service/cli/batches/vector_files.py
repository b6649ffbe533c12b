"""Files of vectors: Parquet with a row for each text, written by `semblance embed`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from semblance.models.errors import BadDataSet
from semblance.models.files.atomic import publish
from semblance.service.ports.documents import Document, DocumentEmbedding

METADATA = b"semblance"
GROUP_ROWS = 4096  # of a row group, at most
GROUP_BYTES = 64 * 1024 * 1024  # from which a row group is written


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """The encoder behind the vectors of a file; kept in its metadata.

    Attributes:
        model: name of the encoder.
        space: digest of what the vectors mean.
        build: digest of the space and of its computation.
        dim: length of the vectors.
        tokens: whether the file has token codes.
    """

    model: str
    space: str
    build: str
    dim: int
    tokens: bool


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddedRow:
    """A row of a file of texts, and what became of it.

    Attributes:
        number: of the line, or of the row in Parquet.
        document: what was encoded; of a rejected row, what is known of it.
        embedding: its vector; None if it was rejected.
        error: why it was rejected, a code of docs/errors.md and a message.
    """

    number: int
    document: Document
    embedding: DocumentEmbedding | None
    error: str | None = None


class VectorWriter:
    """Appends rows to a Parquet file, in row groups of bounded size."""

    def __init__(self, file: pq.ParquetWriter, space: VectorSpace) -> None:
        self._file = file
        self._space = space
        self._batches: list[pa.RecordBatch] = []

    def append(self, rows: Sequence[EmbeddedRow]) -> None:
        """Append rows, which are written when there are enough for a row group."""
        self._batches.append(_batch(rows, self._space))
        rows_waiting = sum(len(batch) for batch in self._batches)
        if rows_waiting >= GROUP_ROWS or sum(each.nbytes for each in self._batches) >= GROUP_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait."""
        if self._batches:
            self._file.write_table(pa.Table.from_batches(self._batches))
            self._batches = []


@contextmanager
def new_vector_file(target: Path, space: VectorSpace) -> Iterator[VectorWriter]:
    """Write a file that appears complete when the block ends, or not at all.

    Raises:
        OSError: writing failed, as on a full disk.
    """
    temporary = target.with_name(f"{target.name}.{uuid4().hex}.partial")  # two processes may make the same file
    try:
        with pq.ParquetWriter(temporary, _schema(space), use_dictionary=False) as file:
            writer = VectorWriter(file, space)
            yield writer
            writer.flush()
        publish(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def read_space(file: Path) -> VectorSpace:
    """The encoder behind the vectors of a file.

    Raises:
        BadDataSet: it cannot be read, or `semblance embed` did not write it.
    """
    try:
        metadata = pq.read_schema(file).metadata or {}
    except (OSError, pa.ArrowException) as error:
        raise BadDataSet(f"{file} cannot be read as Parquet: {error}") from error
    try:
        about: Mapping[str, Any] = json.loads(metadata[METADATA])
        return VectorSpace(**{name: about[name] for name in VectorSpace.__slots__})
    except (KeyError, TypeError, ValueError) as error:
        raise BadDataSet(f"{file} is no file of vectors: name one that `semblance embed` wrote") from error


def _schema(space: VectorSpace) -> pa.Schema:
    about = {"semblance": version("semblance-server"), **asdict(space)}
    codes = [("codes", pa.binary()), ("code_error", pa.float64())] if space.tokens else []
    columns = [
        ("row", pa.int64()),
        ("id", pa.string()),
        ("text", pa.string()),
        ("metadata", pa.string()),
        ("vector", pa.list_(pa.float32(), space.dim)),
        *codes,
        ("truncated", pa.bool_()),
        ("error", pa.string()),
    ]
    return pa.schema(columns, metadata={METADATA: json.dumps(about)})


def _batch(rows: Sequence[EmbeddedRow], space: VectorSpace) -> pa.RecordBatch:
    made = [row.embedding for row in rows]
    vectors = np.zeros((len(rows), space.dim), np.float32)
    for vector, embedding in zip(vectors, made, strict=True):
        if embedding is not None:
            vector[:] = embedding.vectors[0]
    missing = pa.array([embedding is None for embedding in made], pa.bool_())
    columns: dict[str, Any] = {
        "row": [row.number for row in rows],
        "id": [row.document.id for row in rows],
        "text": [row.document.text for row in rows],
        "metadata": [json.dumps(row.document.metadata, ensure_ascii=False) for row in rows],
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), space.dim, mask=missing),
        "truncated": [None if embedding is None else embedding.truncated for embedding in made],
        "error": [row.error for row in rows],
    }
    if space.tokens:
        columns["codes"] = [
            None if embedding is None or embedding.codes is None else embedding.codes[0] for embedding in made
        ]
        columns["code_error"] = [None if embedding is None else embedding.code_error for embedding in made]
    schema = _schema(space)
    arrays = [
        columns[field.name] if isinstance(columns[field.name], pa.Array) else pa.array(columns[field.name], field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
