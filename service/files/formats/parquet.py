"""Parquet, by pyarrow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from semblance.models.errors import BadDataSet
from semblance.models.files.lines import Advance
from semblance.service.files.sources import Reading, RowProblem, SourceRow

BATCH = 256  # rows that are decoded together


class ParquetTable:
    """The columns of a Parquet file, as values of JSON.

    Dates and times become ISO 8601 strings, decimals numbers; NaN counts as null. Bytes are texts in UTF-8, as some
    programs write them; a row with others is rejected.

    Raises:
        BadDataSet: the file is not Parquet, or a column is of a type that JSON does not have, such as a
            duration.
    """

    unit: ClassVar[Literal["row"]] = "row"
    typed: ClassVar[bool] = True
    unnamed: ClassVar[Sequence[int]] = ()
    reading: ClassVar[Reading] = Reading("parquet")

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            with pq.ParquetFile(file) as table:
                schema, self.size = table.schema_arrow, table.metadata.num_rows
        except (OSError, pa.ArrowException) as error:
            raise BadDataSet(f"{file} cannot be read as Parquet: {error}") from error
        self.columns: tuple[str, ...] = tuple(schema.names)
        for field in schema:
            if not all(map(_is_json, _leaves(field.type))):
                raise BadDataSet(f"{file}: the column {field.name} is of type {field.type}; write the file without it")

    def rows(self, advance: Advance | None = None) -> Iterator[SourceRow]:
        """All rows. Raises BadDataSet."""
        number = 0
        try:
            with pq.ParquetFile(self._file) as table:
                for batch in table.iter_batches(BATCH):
                    for values in batch.to_pylist():
                        number += 1
                        yield SourceRow(number, _fields(values))
                    if advance is not None:
                        advance(len(batch))
        except (OSError, pa.ArrowException) as error:
            raise BadDataSet(f"{self._file}, after row {number}: the file is damaged: {error}") from error


def _fields(values: Mapping[str, Any]) -> Mapping[str, Any] | RowProblem:
    """The values of a row as JSON has them."""
    fields = {}
    for name, value in values.items():
        try:
            fields[name] = _json(value)
        except UnicodeDecodeError:
            return RowProblem("invalid_value", f"{name}: its bytes are not UTF-8; write the file without the column")
    return fields


def _leaves(kind: pa.DataType) -> Iterator[pa.DataType]:
    if pa.types.is_dictionary(kind):
        yield from _leaves(kind.value_type)
    elif kind.num_fields == 0:
        yield kind
    for i in range(kind.num_fields):
        yield from _leaves(kind.field(i).type)


def _is_json(kind: pa.DataType) -> bool:
    types = pa.types
    return any(
        is_kind(kind)
        for is_kind in (
            types.is_string,
            types.is_large_string,
            types.is_string_view,
            types.is_binary,
            types.is_large_binary,
            types.is_binary_view,
            types.is_fixed_size_binary,
            types.is_integer,
            types.is_floating,
            types.is_boolean,
            types.is_null,
            types.is_decimal,
            types.is_date,
            types.is_time,
            types.is_timestamp,
        )
    )


def _json(value: Any) -> Any:
    plain = value
    match value:
        case float() if math.isnan(value):
            plain = None
        case date() | time():
            plain = value.isoformat()
        case bytes():
            plain = value.decode()
        case Decimal():
            plain = float(value)
        case list() | tuple():
            plain = [_json(each) for each in value]
        case dict():
            plain = {name: _json(each) for name, each in value.items()}
    return plain
