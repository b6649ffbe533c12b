"""`semblance index add`: store the documents of a file."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from semblance_client import Client, NotFound, Retries, Unreachable
from semblance_client import SemblanceError as ServiceError
from semblance_client.calls.upload import RETRY_FOR_S, stored_batch
from semblance_client.vocabulary.collections import CollectionRequest

from semblance.models.errors import BadDataSet, SemblanceError
from semblance.service.cli.index.leftovers import leftovers
from semblance.service.cli.index.rows import DocumentRows
from semblance.service.cli.index.upload import FileUpload
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import IdField, TextFields, Url
from semblance.service.documents.databases.lock import lock_home
from semblance.service.errors import SpaceMismatch, UnknownCollection
from semblance.service.files.encodings import known_encoding
from semblance.service.files.fields import DocumentFields
from semblance.service.files.folder import PageFolder
from semblance.service.files.opening import open_source
from semblance.service.files.sources import PAGES, Format, Reading, format_of
from semblance.service.settings import Settings, read_settings
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.documents.index_stream import IndexStream

if TYPE_CHECKING:
    from semblance.service.cli.batches.vector_files import VectorSpace


def add(  # noqa: PLR0913 - one parameter an option
    file: Annotated[
        Path,
        typer.Argument(
            exists=True,
            help="CSV, TSV, JSON, JSONL or Parquet; a page such as .md, .html or .pdf, or a folder of pages; with "
            "--vectors, a file or folder of vectors.",
        ),
    ],
    collection: Annotated[str, typer.Option(help="Collection to fill; created if missing.")],
    *,
    id_field: IdField = None,
    text_field: TextFields = [],  # noqa: B006 - Typer copies it
    format_: Annotated[Format | None, typer.Option("--format", help="Format.", show_default="by the suffix")] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of the text, such as cp1252.", show_default="by its bytes")
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="Separator of CSV: one character.", show_default="by its first line")
    ] = None,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Store files of `semblance embed` with their vectors, encoding nothing.")
    ] = False,
    url: Url,
    offline: Annotated[
        bool, typer.Option("--offline", help="Write to the folder of documents without a service.")
    ] = False,
    home: Annotated[Path | None, typer.Option(help="Folder for --offline.", show_default="~/.semblance")] = None,
) -> None:
    """Store the documents of a file or folder.

    Each row is a document: its text is the field `text`, after `title` if there is one, its id is `id` or `_id`, and
    all other fields become metadata. Rows without an id are named FILE:LINE. Without a field `text`, the fields of text
    and id are guessed, and said. Each page of a folder is a document, named by its file. docs/documents.md has the
    details.

    A missing collection is created with default settings, and stays only if something is stored. Rows that cannot be
    stored (invalid JSON, an empty text) are listed and the others stored, those that the model cannot read with a
    warning; of several rows with the same id the last wins, and they are listed. The work resumes if the service is
    away for less than a minute. Repeating the command is safe: unchanged texts are not encoded again. If the service
    requires a key, SEMBLANCE_CLIENT_KEY must have the scopes read and write, and admin to create a collection.

    With --vectors, a missing collection is created for the model of the vectors, with a passage for each document. The
    vectors of another model are rejected, and texts that a collection cuts into several passages.

    \b
    Examples:
      semblance index help.csv --collection help
      semblance index tickets.csv --collection tickets --id-field number --text-field subject --text-field body
      semblance index notes/ --collection notes
      semblance index help.jsonl --collection help --offline --home /var/lib/semblance
      semblance index vectors/ --collection help --vectors
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    console = Console(stderr=True)
    fields = DocumentFields(file.name, id_field, text_field)
    with exit_on(SemblanceError):
        reading = Reading(format_, None if encoding is None else known_encoding(encoding), _one_character(separator))
        uploads = _vector_uploads(file, fields, console) if vectors else [_upload(file, reading, fields, console)]
    try:
        for upload in uploads:
            if offline:
                asyncio.run(_store_offline(read_settings(home=home), collection, upload))
            else:
                _store_online(url, collection, upload)
            upload.print(collection)
    except (ServiceError, SemblanceError) as error:
        stored = sum(upload.rows.outcome.upserted for upload in uploads)
        begun = f"stopped after {stored:,} documents: " if stored else ""
        remedy = " Name its address with --url, or store without it with --offline."
        raise SystemExit(f"{begun}{error}{remedy if isinstance(error, Unreachable) else ''}") from error
    if any(upload.rows.outcome.refused.count for upload in uploads):
        raise typer.Exit(1)


def _upload(file: Path, reading: Reading, fields: DocumentFields, console: Console) -> FileUpload:
    """The upload of a file or folder of texts. Raises BadDataSet."""
    is_page = file.is_dir() or (reading.format or format_of(file)) in PAGES
    source = PageFolder(file, reading) if is_page else open_source(file, reading)
    return FileUpload(console, file, source, DocumentRows(source, fields))


def _one_character(separator: str | None) -> str | None:
    if separator is not None and len(separator) != 1:
        raise typer.BadParameter("it must be one character, such as ; or $'\\t'", param_hint="--separator")
    return separator


def _vector_uploads(file: Path, fields: DocumentFields, console: Console) -> list[FileUpload]:
    """The uploads of a file of vectors, or of those in a folder. Raises BadDataSet."""
    from semblance.service.cli.index.vectors import VectorFile  # noqa: PLC0415 - needs pyarrow

    files = sorted(file.glob("*.parquet")) if file.is_dir() else [file]
    if not files:
        raise BadDataSet(f"{file} has no files of vectors; make them by `semblance embed`")
    uploads = []
    for each in files:
        source = VectorFile(each)
        rows = DocumentRows(source, fields)
        for number, message in source.refused:
            rows.outcome.refused.add(number, "no_vector", message)
        uploads.append(FileUpload(console, each, source, rows, source.space))
    return uploads


def _store_online(url: str, collection: str, upload: FileUpload) -> None:
    # A wrong address fails at once; a service that has answered may be away for a while.
    with Client(url, retries=Retries(attempts=1)) as client:
        missing = _is_missing(client, collection)
    upload.prepare()
    with Client(url, retries=Retries(attempts=sys.maxsize, total_s=RETRY_FOR_S)) as client:
        if missing:
            served = {} if upload.space is None else {each.name: each.space for each in client.models()}
            model = _served_model(upload.space, served)
            client.create_collection(collection, **_settings(upload.space, model))
        try:
            with upload.bar() as acknowledge:
                client.upload(upload.rows, collection, progress=acknowledge, retry_for_s=RETRY_FOR_S, rejected="report")
            if isinstance(upload.source, PageFolder) and upload.file.is_dir() and not missing:
                upload.note(leftovers(client, collection, upload.file, upload.source))
        finally:
            if missing and not upload.rows.outcome.upserted:
                with suppress(ServiceError):
                    if not client.collection(collection).count:
                        client.delete_collection(collection)


def _served_model(space: VectorSpace | None, served: Mapping[str, str]) -> str | None:
    """The served model of these vectors, given the space of each; None without vectors.

    Raises:
        SpaceMismatch: it is not served.
    """
    if space is None:
        return None
    for name, own in served.items():
        if own == space.space:
            return name
    raise SpaceMismatch(
        f"the vectors are of model {space.model!r} (space {space.space[:12]}), and the service has only "
        f"{', '.join(f'{name} ({own[:12]})' for name, own in served.items())}; serve that model too"
    )


def _settings(space: VectorSpace | None, model: str | None) -> dict[str, Any]:
    """Settings of a collection to create: for vectors, of one passage a document, as they are."""
    if space is None:
        return {}
    return {"model": model, "tokens": "int8" if space.tokens else "none", "passages": "none"}


def _is_missing(client: Client, collection: str) -> bool:
    try:
        client.collection(collection)
    except NotFound:
        return True
    return False


async def _store_offline(settings: Settings, collection: str, upload: FileUpload) -> None:
    """Store without a service; the lock on the folder keeps any service from using it meanwhile."""
    from semblance.service.api.ndjson import read_lines  # noqa: PLC0415 - imports FastAPI
    from semblance.service.composition.models import served_models  # noqa: PLC0415 - likewise
    from semblance.service.composition.services import open_services  # noqa: PLC0415 - likewise

    with lock_home(settings.home):
        upload.prepare()
        models = served_models(settings)
        async with open_services(settings, models) as services:
            missing = False
            try:
                await services[Collections].show(collection)
            except UnknownCollection:
                missing = True
                model = _served_model(upload.space, {name: files.space for name, files in models.files.items()})
                await services[Collections].create(collection, CollectionRequest(**_settings(upload.space, model)))
            lines = read_lines(_ended(upload.rows), settings.max_body_bytes)
            try:
                with upload.bar() as acknowledge:
                    async for stored in services[IndexStream].store(collection, lines):
                        acknowledge(stored_batch(stored.model_dump()))
            finally:
                if missing and not upload.rows.outcome.upserted:
                    await services[Collections].drop(collection)


async def _ended(lines: Iterable[bytes]) -> AsyncIterator[bytes]:
    for line in lines:
        yield line + b"\n"
