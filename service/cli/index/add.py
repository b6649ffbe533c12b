"""`semblance index add`: documents from a file into a collection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from semblance.models.errors import SemblanceError
from semblance.service.api.ndjson import read_lines, stored_out
from semblance.service.client import Client, Refused, ServiceError, StoredBatch, stored_batch
from semblance.service.documents.lock import hold
from semblance.service.errors import UnknownCollection
from semblance.service.settings import Settings, client_key, read_settings
from semblance.service.usecases.collections import NewCollection

SHOWN = 20  # refused lines that are shown one by one
PIECE = 1 << 16  # bytes of the file that are read at once


def add(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSONL: one {id, text, metadata} a line.")],
    collection: Annotated[str, typer.Option(help="Collection to store in; created if missing.")],
    url: Annotated[str, typer.Option(help="Where the service runs.")] = "http://127.0.0.1:8000",
    offline: Annotated[
        bool, typer.Option("--offline", help="Store without a service, straight into the folder of documents.")
    ] = False,
    home: Annotated[Path | None, typer.Option(help="That folder, for --offline.", show_default="~/.semblance")] = None,
) -> None:
    """Store the documents of a JSONL file.

    The collection is created with default settings unless it exists. Lines that cannot be stored (broken JSON, an empty
    text) are listed, and the others kept; of several lines with one id the last wins. When the service goes away and
    comes back within a minute, the work goes on where it was cut. Running it again is harmless: an unchanged text is
    not encoded again. SEMBLANCE_CLIENT_KEY is shown to a service that wants a key; it needs the scopes read and
    write, and admin too if the collection has to be created.

    \b
    Examples:
      semblance index help.jsonl --collection help
      semblance index help.jsonl --collection help --offline --home /var/lib/semblance
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    console = Console(stderr=True)
    report = _Report(console, collection)
    try:
        with file.open("rb") as stream, _bar(console, file) as advance:
            if offline:
                asyncio.run(_store_offline(read_settings(home=home), collection, stream, report, advance))
            else:
                _store_online(url, collection, stream, report, advance)
    except (ServiceError, SemblanceError) as error:
        raise SystemExit(f"stopped after {report.upserted:,} documents: {error}") from error
    report.show()
    if report.refused:
        raise typer.Exit(1)


class _Report:
    """What became of the lines."""

    def __init__(self, console: Console, collection: str) -> None:
        self._console = console
        self._collection = collection
        self.upserted = self.truncated = 0
        self.refused: list[Refused] = []

    def add(self, batch: StoredBatch) -> None:
        self.upserted += batch.upserted
        self.truncated += batch.truncated
        self.refused += batch.refused

    def show(self) -> None:
        for fault in self.refused[:SHOWN]:
            self._console.print(f"line {fault.line}: {fault.code}: {fault.detail}", markup=False)
        if len(self.refused) > SHOWN:
            self._console.print(f"... and {len(self.refused) - SHOWN:,} more lines")
        stored = f"{self.upserted:,} documents stored in {self._collection}"
        cut = f"{self.truncated:,} of them cut to what the model reads"
        self._console.print(f"{stored}, {cut}; lines refused: {len(self.refused):,}", markup=False)


def _store_online(
    url: str, collection: str, stream: BinaryIO, report: _Report, advance: Callable[[int, int], None]
) -> None:
    with Client(url, client_key()) as client:
        if client.call("GET", f"/collections/{collection}").status_code == 404:
            client.ask("PUT", f"/collections/{collection}")
        for batch in client.index(collection, stream):
            report.add(batch)
            advance(batch.through_line, stream.tell())


async def _store_offline(
    settings: Settings, collection: str, stream: BinaryIO, report: _Report, advance: Callable[[int, int], None]
) -> None:
    """The same without a service; the lock makes sure that none serves this folder meanwhile."""
    from semblance.service.app import open_services  # noqa: PLC0415 - it loads all there is, which the other ways need not wait for

    with hold(settings.home):
        async with open_services(settings) as services:
            try:
                await services.collections.show(collection)
            except UnknownCollection:
                await services.collections.create(collection, NewCollection())
            lines = read_lines(_pieces(stream), settings.max_body_bytes)
            async for stored in services.index_stream(collection, lines):
                report.add(stored_batch(stored_out(stored).model_dump(), 1))
                advance(stored.through_line, stream.tell())


async def _pieces(stream: BinaryIO) -> AsyncIterator[bytes]:
    while piece := stream.read(PIECE):
        yield piece


@contextmanager
def _bar(console: Console, file: Path) -> Iterator[Callable[[int, int], None]]:
    """A progress bar over the bytes of `file`, and what moves it: documents so far, bytes so far."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TextColumn("{task.fields[rate]}"))
    with Progress(*columns, TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task(file.name, total=file.stat().st_size, rate="")

        def advance(lines: int, read: int) -> None:
            elapsed = bar.tasks[task].elapsed or 1e-9
            bar.update(task, completed=read, rate=f"{lines / elapsed:,.0f} documents/s")

        yield advance
