"""Encode the texts of one file into one file of vectors, as the service would store them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path

from semblance.models.errors import BadDataSet
from semblance.models.protocols import Encoder
from semblance.service.api.ndjson import read_document
from semblance.service.cli.batches.engines import Report
from semblance.service.cli.batches.vector_files import EmbeddedRow, VectorSpace, new_vector_file
from semblance.service.composition.encoding import open_document_embedder
from semblance.service.errors import PartsRefused, Problem
from semblance.service.files.column_types import column_types
from semblance.service.files.fields import IDS, TEXT, DocumentFields
from semblance.service.files.guesses import guessed_fields
from semblance.service.files.opening import open_source
from semblance.service.files.sources import RowProblem, SourceRow
from semblance.service.model_loading.device import find_model, load_model
from semblance.service.ports.documents import Document
from semblance.service.settings import Settings, read_settings
from semblance.service.usecases.documents.embed import DocumentEmbedder
from semblance.service.usecases.text_embedder import InputText

BLOCK = 256  # rows that are read and written together, as the service stores them
BLOCKS_AHEAD = 4  # that wait or are encoded: texts of similar lengths are taken from all of them


@dataclass(frozen=True, slots=True)
class EmbedTask:
    """A file to encode.

    Attributes:
        source: the file of texts.
        target: the file of vectors to write.
        size: bytes of the source.
        model: as in `find_model`.
        id_field: field of the id, if the user named it.
        text_fields: fields of the text, if the user named them.
        tokens: whether to write token codes, too.
    """

    source: Path
    target: Path
    size: int
    model: str | None
    id_field: str | None
    text_fields: tuple[str, ...]
    tokens: bool

    @property
    def label(self) -> str:
        """The file, in messages."""
        return str(self.source)


@dataclass(frozen=True, slots=True)
class FileCounts:
    """Result of a file: numbers of rows and guessed fields, or why it was not read."""

    rows: int = 0
    refused: int = 0
    truncated: int = 0
    problem: str | None = None
    guessed: str = ""


def encode_file(task: EmbedTask, report: Report) -> FileCounts:
    """Write the vectors of a file.

    If it cannot be read, the counts say why, and nothing is written.

    Raises:
        SemblanceError, OSError: the model cannot be loaded, or the disk is full.
    """
    settings = read_settings()
    encoder = _encoder(task.model, settings)
    with open_document_embedder(settings, find_model(task.model, settings)[1]) as embedder:
        try:
            return asyncio.run(_write(task, _RowEncoder(encoder, embedder, task.tokens), settings, report))
        except BadDataSet as error:
            return FileCounts(problem=str(error))


@lru_cache(1)
def _encoder(model: str | None, settings: Settings) -> Encoder:
    """The encoder, which a worker process loads once."""
    return load_model(model, settings)


async def _write(task: EmbedTask, encoder: _RowEncoder, settings: Settings, report: Report) -> FileCounts:
    source = open_source(task.source)
    fields = guessed_fields(source, DocumentFields(task.source.name, task.id_field, task.text_fields))
    if source.columns is not None:
        fields.require(source.columns)
    if not source.typed:
        fields = replace(fields, casts=column_types(source.rows()))
    position = 0

    def advance(more: int) -> None:
        nonlocal position
        position += more
        report(task.size * position / max(source.size, 1))

    rows = (_read(row, fields, settings.max_body_bytes) for row in source.rows(advance))
    counts = FileCounts(guessed="" if task.text_fields else _guessed(fields))
    with new_vector_file(task.target, encoder.space) as file:
        async with aclosing(encoder.encode(rows)) as blocks:
            async for block in blocks:
                file.append(block)
                counts = FileCounts(
                    counts.rows + len(block),
                    counts.refused + sum(row.embedding is None for row in block),
                    counts.truncated + sum(row.embedding is not None and row.embedding.truncated for row in block),
                    guessed=counts.guessed,
                )
    return counts


def _guessed(fields: DocumentFields) -> str:
    named = {TEXT: " + ".join(fields.texts), "id": fields.id}
    return "; ".join(f"{name}: {field}" for name, field in named.items() if field) if fields.texts else ""


def _read(row: SourceRow, fields: DocumentFields, max_line_bytes: int) -> EmbeddedRow:
    """A row that is not encoded yet, with an error if the service would reject it."""
    line = fields.document(row)
    document = line if isinstance(line, RowProblem) else read_document(line, max_line_bytes)
    if isinstance(document, Document):
        return EmbeddedRow(row.number, document, None)
    pointer = document.pointer.removeprefix("/") if isinstance(document, Problem) else ""
    values = row.fields if isinstance(row.fields, Mapping) else {}
    known = (values[name] for name in (fields.id, *IDS) if name is not None and values.get(name) not in (None, ""))
    named = Document(_storable(next(known, f"{fields.file}:{row.number}")), _storable(values.get(TEXT)), {})
    return EmbeddedRow(row.number, named, None, _message(document.code, pointer, document.detail))


def _storable(value: object) -> str:
    """A value as Parquet can store it; empty if it is not a text, or has a lone surrogate."""
    text = str(value) if isinstance(value, str | int) else ""
    try:
        text.encode()
    except UnicodeEncodeError:
        return ""
    return text


def _message(code: str, pointer: str, detail: str) -> str:
    return f"{code}: {pointer}: {detail}" if pointer else f"{code}: {detail}"


class _RowEncoder:
    """Encodes rows in blocks."""

    def __init__(self, encoder: Encoder, embedder: DocumentEmbedder, tokens: bool) -> None:
        self.space = VectorSpace(encoder.name, encoder.space, encoder.build, encoder.dim, tokens)
        self._encoder = encoder
        self._embedder = embedder

    async def encode(self, rows: Iterator[EmbeddedRow]) -> AsyncGenerator[Sequence[EmbeddedRow], None]:
        """Yield blocks in the order of the rows, while the next ones are encoded."""
        waiting: deque[asyncio.Task[Sequence[EmbeddedRow]]] = deque()
        try:
            while block := list(islice(rows, BLOCK)):
                waiting.append(asyncio.create_task(self._block(block)))
                if len(waiting) == BLOCKS_AHEAD:
                    yield await waiting.popleft()
            while waiting:
                yield await waiting.popleft()
        finally:
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _block(self, rows: list[EmbeddedRow]) -> Sequence[EmbeddedRow]:
        """The rows with their vectors, or with the error that the service would return."""
        left = {str(i): InputText(row.document.text, f"/{i}") for i, row in enumerate(rows) if row.error is None}
        while left:
            try:
                found = await self._embedder.embed(
                    self._encoder, left, None, "int8" if self.space.tokens else "none", bulk=True
                )
            except PartsRefused as error:
                for problem in error.problems:
                    i = problem.pointer.removeprefix("/")
                    del left[i]
                    rows[int(i)] = _refused(rows[int(i)], problem)
            else:
                for i, embedding in found.by_id.items():
                    row = rows[int(i)]
                    rows[int(i)] = EmbeddedRow(row.number, row.document, embedding)
                break
        return rows


def _refused(row: EmbeddedRow, problem: Problem) -> EmbeddedRow:
    document = Document(row.document.id, _storable(row.document.text), row.document.metadata)
    return EmbeddedRow(row.number, document, None, _message(problem.code, TEXT, problem.detail))
