"""`semblance size`: what a number of documents needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from semblance.models import catalogue
from semblance.service.indexes.engine_choice import engine_for
from semblance.service.ports.indexes import AUTO, ENGINES

# bytes in the index beside the vectors, measured by benchmarks/speed/index_memory.py
LIVE_ROW = 14  # length, digest and state of a text, and bitmaps
MAPPED_ROW = 28  # a digest, a number, and the ends of id and metadata
TERM = 8  # a row and a frequency, for each different term of a text
STORED_ROW = 170  # keys and digest of a row of the database, and its entries in indexes
PAGE = 4096  # of the database; a page holds whole rows
PROCESS = 350_000_000  # a replica with the default model


@dataclass(frozen=True, slots=True)
class SizeEstimate:
    """What a collection needs, in bytes.

    Attributes:
        engine: of its index.
        memory: of a replica that keeps an index of it.
        cached: files that are best kept in the system's file cache too; searches read parts of them.
        database: documents, vectors and token codes, in each replica and in PostgreSQL.
        snapshot: of the index; twice that while it is replaced.
    """

    engine: str
    memory: int
    cached: int
    database: int
    snapshot: int


def estimate(  # noqa: PLR0913 - what a size depends on
    documents: int, *, passages: float, dim: int, engine: str, chars: int, terms: int, metadata: int, token_codes: int
) -> SizeEstimate:
    """Estimate what a collection needs, from what a document has on average."""
    rows = round(documents * passages)
    name = engine_for(engine, rows)
    vectors = rows * catalogue.find(ENGINES, name).row_bytes(dim)
    own = rows * LIVE_ROW
    mapped = rows * MAPPED_ROW + documents * (terms * TERM + metadata)
    codes = documents * token_codes * (dim + TERM)
    vector_pages = documents * _paged(STORED_ROW + round(passages * 4 * dim))
    stored = documents * (STORED_ROW + chars + metadata) + vector_pages + codes
    return SizeEstimate(name, PROCESS + vectors + own, mapped, stored, vectors + own + mapped)


def size(  # noqa: PLR0913 - one parameter an option
    documents: Annotated[int, typer.Argument(min=1, help="Number of documents.")],
    *,
    passages: Annotated[float, typer.Option(min=1, help="Passages of a document, a vector each.")] = 1,
    dim: Annotated[int, typer.Option(min=1, help="Numbers of a vector.")] = 384,
    engine: Annotated[str, typer.Option(help="Index engine of the collection.")] = AUTO,
    chars: Annotated[int, typer.Option(min=0, help="Characters of a document.")] = 150,
    terms: Annotated[int, typer.Option(min=0, help="Different terms of a document.")] = 20,
    metadata: Annotated[int, typer.Option(min=0, help="Bytes of the metadata and id of a document.")] = 60,
    token_codes: Annotated[int, typer.Option(min=0, help="Stored token vectors of a document.")] = 0,
) -> None:
    """Estimate the memory and disk that a collection needs.

    \b
    Examples:
      semblance size 1000000
      semblance size 200000 --passages 12 --chars 9000 --terms 700
      semblance size 10000000 --token-codes 30
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    engines = catalogue.names(ENGINES)
    if engine not in (AUTO, *engines):
        raise SystemExit(f"no engine {engine!r}; there are {AUTO}, {', '.join(engines)}")
    needed = estimate(
        documents,
        passages=passages,
        dim=dim,
        engine=engine,
        chars=chars,
        terms=terms,
        metadata=metadata,
        token_codes=token_codes,
    )
    table = Table("what", "GB", title=f"{documents:,} documents in {needed.engine}", title_justify="left")
    table.add_row("memory of a replica", _gb(needed.memory))
    table.add_row("file cache that speeds up searches by terms", _gb(needed.cached))
    table.add_row("database, in each replica and in PostgreSQL", _gb(needed.database))
    table.add_row("snapshot of the index, twice while it is replaced", _gb(needed.snapshot))
    Console().print(table)


def _paged(row: int) -> int:
    """Bytes of a row of the database with its share of unused space."""
    return -(-row // PAGE) * PAGE if row > PAGE else PAGE // (PAGE // row)


def _gb(count: int) -> str:
    return f"{count / 1e9:,.1f}"
