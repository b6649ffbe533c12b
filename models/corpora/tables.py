"""Tables on disk: what is read may be larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from semblance.models.errors import BadDataSet

Cell: TypeAlias = str | int | bool | None
AT_ONCE = 20_000  # rows that are written or fetched at once


class Tables:
    """A DuckDB database in a folder, which somebody else deletes.

    What joins, sorts and windows need beyond `memory_mb` goes to the folder too, so that memory hardly grows with the
    tables; what is on its way in or out comes on top of it. Rows come in no order of their own, since threads share the
    work: whatever picks or cuts rows must order them by all that tells them apart.

    Args:
        folder: an empty one, on a disk with room for the texts several times over.
        memory_mb: how many million bytes of it DuckDB may hold.
        threads: how many it may use; None for as many as there are cores.

    Raises:
        BadDataSet: the disk is full, or so little memory does not suffice; here or by any of the methods.
    """

    def __init__(self, folder: Path, memory_mb: int, threads: int | None = None) -> None:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{memory_mb}MB",
            "temp_directory": str(folder / "spilled"),
            "preserve_insertion_order": False,  # DuckDB would hold whole results for it
            "autoinstall_known_extensions": False,  # nothing is downloaded
            "autoload_known_extensions": False,
        }
        if threads is not None:
            config["threads"] = threads
        with _refusals():
            self._connection = duckdb.connect(folder / "tables.duckdb", config=config)

    def close(self) -> None:
        """Let go of the files."""
        with _refusals():
            self._connection.close()

    def run(self, sql: str, given: Mapping[str, Cell] | None = None) -> None:
        """Execute one statement; `$name` in it stands for what is given."""
        with _refusals():
            self._connection.execute(sql, dict(given or {}))

    def rows(self, sql: str, given: Mapping[str, Cell] | None = None) -> Iterator[tuple[Any, ...]]:
        """The rows of a query. Nothing else may be asked until they are all taken."""
        with _refusals():
            found = self._connection.execute(sql, dict(given or {}))
            while batch := found.fetchmany(AT_ONCE):
                yield from batch

    def count(self, sql: str, given: Mapping[str, Cell] | None = None) -> int:
        """The one number that a query answers with."""
        [(number,)] = self.rows(sql, given)
        return int(number)

    def create(self, table: str, columns: Sequence[str]) -> None:
        """Make an empty table of strings."""
        self.run(f"CREATE OR REPLACE TABLE {table} ({', '.join(f'{name} VARCHAR' for name in columns)})")

    @contextmanager
    def appending(self, table: str) -> Iterator[Rows]:
        """What takes rows for a table; they are all in it when the block ends."""
        rows = Rows(lambda cells: self._insert(table, cells))
        yield rows
        rows.hand_over()

    def _insert(self, table: str, columns: Sequence[Sequence[str | None]]) -> None:
        named = {f"column{i}": pa.array(column, pa.string()) for i, column in enumerate(columns)}
        with _refusals():
            self._connection.register("batch", pa.table(named))
            self._connection.execute(f"INSERT INTO {table} SELECT * FROM batch")  # noqa: S608 - our own names
            self._connection.unregister("batch")


class Rows:
    """Rows on their way into a table, handed over many at a time, as column stores like it."""

    def __init__(self, insert: Callable[[Sequence[Sequence[str | None]]], None]) -> None:
        self._insert = insert
        self._rows: list[tuple[str | None, ...]] = []

    def add(self, *cells: str | None) -> None:
        """One more row."""
        self._rows.append(cells)
        if len(self._rows) >= AT_ONCE:
            self.hand_over()

    def hand_over(self) -> None:
        """Insert what is still here."""
        if self._rows:
            self._insert(list(zip(*self._rows, strict=True)))
            self._rows.clear()


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except (duckdb.OperationalError, duckdb.FatalException) as error:
        raise BadDataSet(f"the tables cannot be made: {str(error).partition(chr(10))[0]}") from error
