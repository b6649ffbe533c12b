"""`semblance index`: documents from a file into a running service."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from service.client import Client, Refused, ServiceError
from service.settings import client_key

SHOWN = 20  # refused lines that are shown one by one


def index(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="JSONL: one {id, text, metadata} a line.")],
    collection: Annotated[str, typer.Option(help="Collection to store in; created if missing.")],
    url: Annotated[str, typer.Option(help="Where the service runs.")] = "http://127.0.0.1:8000",
) -> None:
    """Store the documents of a JSONL file in a running service.

    The collection is created with default settings unless it exists. Lines that cannot be stored (broken JSON, an empty
    text) are listed, and the others kept; of several lines with one id the last wins. Running it again is harmless: an
    unchanged text is not encoded again. SEMBLANCE_API_KEY is shown to a service that wants a key; it needs the scope
    write, and also admin if the collection has to be created.

    \b
    Example:
      semblance index help.jsonl --collection help
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    console = Console(stderr=True)
    refused: list[Refused] = []
    upserted = truncated = 0
    try:
        with Client(url, client_key()) as client, file.open("rb") as stream, _bar(console) as bar:
            if client.call("GET", f"/collections/{collection}").status_code == 404:
                client.ask("PUT", f"/collections/{collection}")
            task = bar.add_task(file.name, total=file.stat().st_size, rate="")
            for progress in client.index(collection, _documents(stream)):
                upserted += progress.upserted
                truncated += progress.truncated
                refused += progress.refused
                elapsed = bar.tasks[task].elapsed or 1e-9
                bar.update(task, completed=stream.tell(), rate=f"{progress.through_line / elapsed:,.0f} documents/s")
    except ServiceError as error:
        raise SystemExit(f"stopped after {upserted:,} documents: {error}") from error
    for fault in refused[:SHOWN]:
        console.print(f"line {fault.line}: {fault.code}: {fault.detail}", markup=False)
    if len(refused) > SHOWN:
        console.print(f"... and {len(refused) - SHOWN:,} more lines")
    summary = f"{upserted:,} documents stored in {collection}, {truncated:,} of them cut to what the model reads; "
    console.print(f"{summary}lines refused: {len(refused):,}", markup=False)
    if refused:
        raise typer.Exit(1)


def _documents(stream: Iterable[bytes]) -> Iterator[tuple[int, object]]:
    """Each line's number and document; the service itself says what is wrong with one that is none."""
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except ValueError:
            yield number, line.decode("utf-8", "replace")


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
    )
