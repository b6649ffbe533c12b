"""`semblance index add`: store the documents of a file."""

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
from semblance.service.cli.toolbox.options import LOCAL_URL, Url
from semblance.service.client import Client, LineProblem, ServiceError, StoredBatch, stored_batch
from semblance.service.documents.lock import lock_home
from semblance.service.errors import UnknownCollection
from semblance.service.settings import Settings, client_key, read_settings
from semblance.service.usecases.collections import Collections, NewCollection
from semblance.service.usecases.index_stream import IndexStream

SHOWN = 20  # refused lines that are listed
READ_BYTES = 1 << 16  # of the file at a time


def add(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSONL: one {id, text, metadata} a line.")],
    collection: Annotated[str, typer.Option(help="Collection to fill; created if missing.")],
    url: Url = LOCAL_URL,
    offline: Annotated[
        bool, typer.Option("--offline", help="Write to the folder of documents without a service.")
    ] = False,
    home: Annotated[Path | None, typer.Option(help="Folder for --offline.", show_default="~/.semblance")] = None,
) -> None:
    """Store the documents of a JSONL file.

    A missing collection is created with default settings. Lines that cannot be stored (invalid JSON, an empty text) are
    listed and the others stored; of several lines with the same id the last wins. The work resumes if the service is
    away for less than a minute. Repeating the command is safe: unchanged texts are not encoded again. If the service
    requires a key, SEMBLANCE_CLIENT_KEY must have the scopes read and write, and admin to create a collection.

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
    report.print()
    if report.refused:
        raise typer.Exit(1)


class _Report:
    """Counts of stored and refused lines."""

    def __init__(self, console: Console, collection: str) -> None:
        self._console = console
        self._collection = collection
        self.upserted = self.truncated = 0
        self.refused: list[LineProblem] = []

    def add(self, batch: StoredBatch) -> None:
        self.upserted += batch.upserted
        self.truncated += batch.truncated
        self.refused += batch.refused

    def print(self) -> None:
        for each in self.refused[:SHOWN]:
            self._console.print(f"line {each.line}: {each.code}: {each.detail}", markup=False)
        if len(self.refused) > SHOWN:
            self._console.print(f"... and {len(self.refused) - SHOWN:,} more lines")
        stored = f"{self.upserted:,} documents stored in {self._collection}"
        truncated = f"{self.truncated:,} of them truncated to the model's input length"
        self._console.print(f"{stored}, {truncated}; lines refused: {len(self.refused):,}", markup=False)


def _store_online(
    url: str, collection: str, stream: BinaryIO, report: _Report, advance: Callable[[int, int], None]
) -> None:
    with Client(url, client_key()) as client:
        if client.send("GET", f"/collections/{collection}").status_code == 404:
            client.request("PUT", f"/collections/{collection}")
        for batch in client.index(collection, stream):
            report.add(batch)
            advance(batch.through_line, stream.tell())


async def _store_offline(
    settings: Settings, collection: str, stream: BinaryIO, report: _Report, advance: Callable[[int, int], None]
) -> None:
    """Store without a service; the lock on the folder keeps any service from using it meanwhile."""
    from semblance.service.api.ndjson import read_lines, stored_out  # noqa: PLC0415 - imports FastAPI
    from semblance.service.composition.services import open_services, served_models  # noqa: PLC0415 - likewise

    with lock_home(settings.home):
        async with open_services(settings, served_models(settings)) as services:
            try:
                await services[Collections].show(collection)
            except UnknownCollection:
                await services[Collections].create(collection, NewCollection())
            lines = read_lines(_chunks(stream), settings.max_body_bytes)
            async for stored in services[IndexStream](collection, lines):
                report.add(stored_batch(stored_out(stored).model_dump(), 1))
                advance(stored.through_line, stream.tell())


async def _chunks(stream: BinaryIO) -> AsyncIterator[bytes]:
    while chunk := stream.read(READ_BYTES):
        yield chunk


@contextmanager
def _bar(console: Console, file: Path) -> Iterator[Callable[[int, int], None]]:
    """Show progress over the bytes of `file`; yields its callback (documents, bytes)."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TextColumn("{task.fields[rate]}"))
    with Progress(*columns, TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task(file.name, total=file.stat().st_size, rate="")

        def advance(lines: int, read: int) -> None:
            elapsed = bar.tasks[task].elapsed or 1e-9
            bar.update(task, completed=read, rate=f"{lines / elapsed:,.0f} documents/s")

        yield advance
