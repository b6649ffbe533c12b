"""Files of vectors, which `semblance embed` wrote, as documents with their embeddings."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import Advance
from semblance.service.cli.batches.vector_files import read_space
from semblance.service.files.sources import Reading, SourceRow

BATCH = 256  # rows that are decoded together


class VectorFile:
    """Rows with a vector, each as a line of NDJSON.

    Attributes:
        space: what made the vectors.
        refused: number and error of the rows without a vector.

    Raises:
        BadDataSet: the file cannot be read, or `semblance embed` did not write it.
    """

    unit: ClassVar[Literal["row"]] = "row"
    typed: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...] | None] = None
    unnamed: ClassVar[Sequence[int]] = ()
    reading: ClassVar[Reading] = Reading("parquet")

    def __init__(self, file: Path) -> None:
        self._file = file
        self.space = read_space(file)
        errors = pq.read_table(file, columns=["row", "error"])
        self.size = len(errors)
        self.refused: list[tuple[int, str]] = [
            (row["row"], row["error"]) for row in errors.filter(pc.is_valid(errors["error"])).to_pylist()
        ]

    def rows(self, advance: Advance | None = None) -> Iterator[SourceRow]:
        """The rows with a vector, by their numbers in the file of texts. Raises BadDataSet."""
        try:
            with pq.ParquetFile(self._file) as table:
                for batch in table.iter_batches(BATCH):
                    flat = batch.column("vector").values.to_numpy(zero_copy_only=False).reshape(-1, self.space.dim)
                    for values, vector in zip(batch.drop_columns("vector").to_pylist(), flat, strict=True):
                        if values["error"] is None:
                            line = self._line(values, vector.astype("<f4").tobytes())
                            yield SourceRow(values["row"], line, values["id"])
                    if advance is not None:
                        advance(len(batch))
        except (OSError, pa.ArrowException) as error:
            raise BadDataSet(f"{self._file} is damaged: {error}") from error

    def _line(self, values: Mapping[str, Any], vector: bytes) -> bytes:
        embedding = {"space": self.space.space, "vector": b64encode(vector).decode()}
        if self.space.tokens:
            embedding |= {"codes": b64encode(values["codes"]).decode(), "code_error": values["code_error"]}
        document = {name: values[name] for name in ("id", "text")}
        metadata = json.loads(values["metadata"])
        return json.dumps({**document, "metadata": metadata, "embedding": embedding}, ensure_ascii=False).encode()
