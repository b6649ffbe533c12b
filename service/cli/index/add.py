"""`semblance index add`: store the documents of a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from semblance_client import Client, NotFound, Retries, Unreachable
from semblance_client import SemblanceError as ServiceError
from semblance_client.calls.upload import RETRY_FOR_S

from semblance.models.errors import BadDataSet, SemblanceError
from semblance.service.cli.ask.asking import asking
from semblance.service.cli.index.leftovers import leftovers
from semblance.service.cli.index.rows import DocumentRows
from semblance.service.cli.index.upload import FileUpload
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import IdField, OpenedHome, ServiceAddress, TextFields
from semblance.service.errors import SpaceMismatch
from semblance.service.files.encodings import known_encoding
from semblance.service.files.fields import DocumentFields
from semblance.service.files.folder import PageFolder
from semblance.service.files.opening import open_source
from semblance.service.files.sources import PAGES, Format, Reading, format_of

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
    url: ServiceAddress = None,
    home: OpenedHome = None,
) -> None:
    """Store the documents of a file or folder.

    Each row is a document: its text is the field `text`, after `title` if there is one, its id is `id` or `_id`, and
    all other fields become metadata. Rows without an id are named FILE:LINE. Without a field `text`, the fields of text
    and id are guessed, and said. Each page of a folder is a document, named by its file. docs/documents.md has the
    details.

    A running service stores them; without one, ~/.semblance is opened in this process, which no service may use
    meanwhile. A missing collection is created with default settings, and stays only if something is stored. Rows that
    cannot be stored (invalid JSON, an empty text) are listed and the others stored, those that the model cannot read
    with a warning; of several rows with the same id the last wins, and they are listed. The work resumes if the service
    is away for less than a minute. Repeating the command is safe: unchanged texts are not encoded again. If the service
    requires a key, SEMBLANCE_CLIENT_KEY must have the scopes read and write, and admin to create a collection.

    With --vectors, a missing collection is created for the model of the vectors, with a passage for each document. The
    vectors of another model are rejected, and texts that a collection cuts into several passages.

    \b
    Examples:
      semblance index help.csv --collection help
      semblance index tickets.csv --collection tickets --id-field number --text-field subject --text-field body
      semblance index notes/ --collection notes
      semblance index help.jsonl --collection help --home /var/lib/semblance
      semblance index vectors/ --collection help --vectors
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    console = Console(stderr=True)
    fields = DocumentFields(file.name, id_field, text_field)
    with exit_on(SemblanceError):
        reading = Reading(format_, None if encoding is None else known_encoding(encoding), _one_character(separator))
        uploads = _vector_uploads(file, fields, console) if vectors else [_upload(file, reading, fields, console)]
    with asking(url, home, documents="written") as client, _failures_named(uploads):
        for upload in uploads:
            _store(client, collection, upload)
            upload.print(collection)
    if any(upload.rows.outcome.refused.count for upload in uploads):
        raise typer.Exit(1)


@contextmanager
def _failures_named(uploads: Sequence[FileUpload]) -> Iterator[None]:
    """Exit with the message of a failure, after the number of documents that were stored before."""
    try:
        yield
    except (ServiceError, SemblanceError) as error:
        stored = sum(upload.rows.outcome.upserted for upload in uploads)
        begun = f"stopped after {stored:,} documents: " if stored else ""
        remedy = " Name its address with --url, or a folder of documents with --home."
        raise SystemExit(f"{begun}{error}{remedy if isinstance(error, Unreachable) else ''}") from error


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


def _store(client: Client, collection: str, upload: FileUpload) -> None:
    missing = _is_missing(client, collection)
    client = client.with_retries(Retries(attempts=sys.maxsize, total_s=RETRY_FOR_S))  # it has answered: it comes back
    upload.prepare()
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
