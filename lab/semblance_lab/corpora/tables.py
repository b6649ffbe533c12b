"""Tables on disk (DuckDB), for data larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from semblance.models.errors import BadDataSet

Cell: TypeAlias = str | int | bool | None
BLOCK_ROWS = 20_000  # rows written or fetched together


class Tables:
    """A DuckDB database in a folder that the caller deletes.

    Joins, sorts and windows spill to the folder beyond `memory_mb`, so that memory hardly grows with the tables; blocks
    of rows being inserted or fetched add to it. Rows have no order, because threads share the work: a query that
    selects or limits rows must order them by columns that distinguish all of them.

    Args:
        folder: an empty folder, on a disk with space for several copies of the texts.
        memory_mb: memory limit of DuckDB in million bytes.
        threads: the largest number of threads; None for one per core.

    Raises:
        BadDataSet: the disk is full, or the memory limit is too small; from here or from any of the methods.
    """

    def __init__(self, folder: Path, memory_mb: int, threads: int | None = None) -> None:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{memory_mb}MB",
            "temp_directory": str(folder / "spilled"),
            "preserve_insertion_order": False,  # it would need whole results in memory
            "autoinstall_known_extensions": False,  # nothing is downloaded
            "autoload_known_extensions": False,
        }
        if threads is not None:
            config["threads"] = threads
        with _disk_errors():
            self._connection = duckdb.connect(folder / "tables.duckdb", config=config)

    def close(self) -> None:
        """Close the files."""
        with _disk_errors():
            self._connection.close()

    def run(self, sql: str, parameters: Mapping[str, Cell] | None = None) -> None:
        """Execute one statement; `$name` in it refers to a parameter."""
        with _disk_errors():
            self._connection.execute(sql, dict(parameters or {}))

    def rows(self, sql: str, parameters: Mapping[str, Cell] | None = None) -> Iterator[tuple[Any, ...]]:
        """The rows of a query; no other statement may run until all are fetched."""
        with _disk_errors():
            result = self._connection.execute(sql, dict(parameters or {}))
            while block := result.fetchmany(BLOCK_ROWS):
                yield from block

    def count(self, sql: str, parameters: Mapping[str, Cell] | None = None) -> int:
        """The result of a query that returns one number."""
        [(number,)] = self.rows(sql, parameters)
        return int(number)

    def create(self, table: str, columns: Sequence[str]) -> None:
        """Create an empty table of string columns."""
        self.run(f"CREATE OR REPLACE TABLE {table} ({', '.join(f'{name} VARCHAR' for name in columns)})")

    @contextmanager
    def appending(self, table: str) -> Iterator[Callable[..., None]]:
        """Function that adds a row to a table; all rows are there at the end of the block."""
        rows: list[tuple[str | None, ...]] = []

        def add(*cells: str | None) -> None:
            rows.append(cells)
            if len(rows) >= BLOCK_ROWS:  # in large blocks, for the column store
                self._insert(table, rows)
                rows.clear()

        yield add
        if rows:
            self._insert(table, rows)

    def _insert(self, table: str, rows: Sequence[tuple[str | None, ...]]) -> None:
        columns = zip(*rows, strict=True)
        named = {f"column{i}": pa.array(column, pa.string()) for i, column in enumerate(columns)}
        with _disk_errors():
            self._connection.register("batch", pa.table(named))
            self._connection.execute(f"INSERT INTO {table} SELECT * FROM batch")  # noqa: S608 - our own names
            self._connection.unregister("batch")


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except (duckdb.OperationalError, duckdb.FatalException) as error:
        raise BadDataSet(f"the tables cannot be created: {str(error).partition(chr(10))[0]}") from error
