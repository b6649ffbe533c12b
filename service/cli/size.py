"""`semblance size`: what a number of documents needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from semblance.models import catalogue
from semblance.service.cli.milvus_size import MilvusEstimate, Prices, estimate_milvus
from semblance.service.indexes.engine_choice import engine_for
from semblance.service.ports.indexes import AUTO, ENGINES
from semblance.service.settings import Settings

# bytes in the index beside the vectors, measured by benchmarks/speed/index_memory.py
LIVE_ROW = 14  # length, digest and state of a text, and bitmaps
MAPPED_ROW = 28  # a digest, a number, and the ends of id and metadata
TERM = 8  # a row and a frequency, for each different term of a text
STORED_ROW = 170  # keys and digest of a row of the database, and its entries in indexes
PAGE = 4096  # of the database; a page holds whole rows
PROCESS = 350_000_000  # a replica with the default model
MODELS = 3 * 170_000_000  # the other built-in models, each from its first use
BATCHES = 50_000_000  # that run at the same time


@dataclass(frozen=True, slots=True)
class SizeEstimate:
    """Needs of a collection, in bytes.

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
    milvus: Annotated[
        bool, typer.Option("--milvus", help="Estimate stateless replicas on Milvus, with their cost.")
    ] = False,
    machine_gb: Annotated[float, typer.Option(min=1, help="Memory of a machine, with --milvus.")] = 128,
    machine_price: Annotated[float, typer.Option(min=0, help="A month of such a machine, with --milvus.")] = 500,
    terabyte_price: Annotated[float, typer.Option(min=0, help="A month of a stored terabyte, with --milvus.")] = 50,
) -> None:
    """Estimate the memory and disk that a collection needs.

    With --milvus, its replicas keep no copy: how many machines that takes, what they cost, and how long a fill lasts.

    \b
    Examples:
      semblance size 1000000
      semblance size 200000 --passages 12 --chars 9000 --terms 700
      semblance size 10000000 --token-codes 30
      semblance size 1000000000 --milvus --machine-gb 256 --machine-price 900
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
    if milvus:
        prices = Prices(machine_gb * 1e9, machine_price, terabyte_price)
        on_milvus = estimate_milvus(round(documents * passages), dim, metadata, needed.database, prices)
        _show_milvus(documents, on_milvus, needed)
    else:
        _show(documents, needed)


def _show(documents: int, needed: SizeEstimate) -> None:
    """Print what a collection needs with a copy in each replica."""
    table = Table("what", "GB", title=f"{documents:,} documents in {needed.engine}", title_justify="left")
    table.add_row("memory of a replica", _gb(needed.memory))
    limit = needed.memory + needed.cached + MODELS + BATCHES + Settings.model_fields["cache_bytes"].default
    table.add_row("memory limit, with all models, batches and caches", _gb(limit))
    table.add_row("file cache that speeds up searches by terms", _gb(needed.cached))
    table.add_row("database, in each replica and in PostgreSQL", _gb(needed.database))
    table.add_row("snapshot of the index, twice while it is replaced", _gb(needed.snapshot))
    Console().print(table)


def _show_milvus(documents: int, needed: MilvusEstimate, alone: SizeEstimate) -> None:
    """Print what a collection needs on Milvus."""
    table = Table("what", "how much", title=f"{documents:,} documents on Milvus", title_justify="left")
    table.add_row("memory of Milvus, GB", _gb(needed.memory))
    table.add_row("object storage of Milvus, GB", _gb(needed.objects))
    table.add_row("database of PostgreSQL, GB", _gb(alone.database))
    table.add_row("memory of a replica, GB", _gb(PROCESS))
    for kind, count in needed.machines.items():
        table.add_row(f"machines: {kind}", f"{count:,}")
    table.add_row("hours of a fill from PostgreSQL", f"{needed.fill_h:,.1f}")
    table.add_row("hours of one core to encode all", f"{needed.encoding_h:,.1f}")
    table.add_row("price of a month", f"{needed.cost:,.0f}")
    table.add_row("memory of a replica with a copy instead, GB", _gb(alone.memory))
    Console().print(table)


def _paged(row: int) -> int:
    """Bytes of a row of the database with its share of unused space."""
    return -(-row // PAGE) * PAGE if row > PAGE else PAGE // (PAGE // row)


def _gb(count: int) -> str:
    return f"{count / 1e9:,.1f}"
