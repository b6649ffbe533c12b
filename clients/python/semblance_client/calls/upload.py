"""Upload of any number of documents as NDJSON, resumed after interruptions."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import httpx2

from semblance_client.calls.seen_ids import SeenIds
from semblance_client.calls.wire import NewDocument, as_json, documents_path, json_bytes
from semblance_client.errors import (
    TRANSIENT,
    Refusal,
    SemblanceError,
    Unavailable,
    Unreachable,
    error_of,
    foreign,
)
from semblance_client.steps import Request, Retries, RetryTimer, Steps

LINES_PER_REQUEST = 256  # stored as one batch, whose answer a proxy passes on at once
BYTES_PER_REQUEST = 1_000_000
RETRY_FOR_S = 60.0  # without progress
PROBLEMS = 100  # that a result keeps
SHOWN = 3  # of them in the text of an error

Line: TypeAlias = NewDocument | bytes | str
"""A document, or a line of NDJSON."""


@runtime_checkable
class Table(Protocol):
    """The parts of a DataFrame of pandas that `upload` reads."""

    columns: Any

    def itertuples(self, index: bool, name: str | None) -> Iterator[tuple[Any, ...]]:
        """Its rows."""

    def notna(self) -> Any:
        """Which of its cells have values."""


@dataclass(frozen=True, slots=True)
class LineProblem:
    """A document that was rejected, or stored with a warning.

    Attributes:
        line: its number in the upload, counted from 1.
        code: a code of the service's table of errors, such as `empty_text`.
        field: the field, such as `text` or `metadata/year`; empty if it is the whole line.
        detail: what is wrong.
    """

    line: int
    code: str
    field: str
    detail: str


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """Documents on disk: every line up to `through_line` is stored, or rejected.

    Attributes:
        through_line: number of the last line.
        upserted: number of lines of the batch that were stored.
        truncated: number of them that are longer than the model reads.
        refused: lines that were not stored.
        warned: lines that were stored with a warning.
    """

    through_line: int
    upserted: int
    truncated: int
    refused: tuple[LineProblem, ...]
    warned: tuple[LineProblem, ...]


@dataclass(slots=True)
class Uploaded:
    """The result of an upload.

    Attributes:
        upserted: number of lines that were stored.
        truncated: number of them that are longer than the model reads.
        failed: number of lines that were rejected.
        refused: the first 100 of these.
        warned: the first 100 lines that were stored with a warning, or whose id came before (`repeated_id`).
    """

    upserted: int = 0
    truncated: int = 0
    failed: int = 0
    refused: list[LineProblem] = field(default_factory=list)
    warned: list[LineProblem] = field(default_factory=list)

    def add(self, batch: StoredBatch) -> None:
        """Count a batch."""
        self.upserted += batch.upserted
        self.truncated += batch.truncated
        self.failed += len(batch.refused)
        for kept, problems in ((self.refused, batch.refused), (self.warned, batch.warned)):
            kept.extend(problems[: PROBLEMS - len(kept)])


class RejectedDocuments(SemblanceError):
    """Some documents of an upload were not stored; all others are.

    Attributes:
        result: what was stored, and the documents that were not.
    """

    def __init__(self, result: Uploaded) -> None:
        first = [f"document {part.line}, {part.field or 'line'}: {part.detail}" for part in result.refused[:SHOWN]]
        more = [f"and {result.failed - SHOWN:,} more"] if result.failed > SHOWN else []
        counts = f"documents stored: {result.upserted:,}, rejected: {result.failed:,}"
        super().__init__("; ".join([counts, *first, *more]))
        self.result = result

    def __reduce__(self) -> tuple[type[RejectedDocuments], tuple[Uploaded]]:
        return type(self), (self.result,)


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload that is not begun; see `upload`."""

    documents: Iterable[Line]
    collection: str
    progress: Callable[[StoredBatch], None] | None
    retry_for_s: float
    rejected: Literal["raise", "report"]

    def steps(self, retries: Retries) -> Steps[Uploaded]:
        """Send all documents, and those not acknowledged again. Raises SemblanceError."""
        result, contact = Uploaded(), RetryTimer(retries)
        first = 1
        with closing(SeenIds()) as seen:
            for lines in _chunks(_noting_repeated(self.documents, seen, result)):
                yield from self._store(lines, first, contact, result)
                first += len(lines)
        if result.failed and self.rejected == "raise":
            raise RejectedDocuments(result)
        return result

    def _store(self, lines: list[bytes], first: int, contact: RetryTimer, result: Uploaded) -> Steps[None]:
        """Send lines, numbered from `first`, until each is acknowledged.

        `contact` times the attempts to reach a service that has stored nothing yet: the address may be wrong.
        """
        path = documents_path(self.collection)
        patience = Retries(attempts=sys.maxsize, total_s=self.retry_for_s)
        timer, acknowledged, pause = RetryTimer(patience), 0, 0.0
        while acknowledged < len(lines):
            content = b"".join(lines[acknowledged:])
            request = Request("POST", path, content, "application/x-ndjson", pause)
            try:
                response = yield request
            except Unreachable as lost:
                answer = _Answer([], lost)
            else:
                answer = _read(path, response, first + acknowledged)
            for batch in answer.batches:
                acknowledged = batch.through_line - first + 1
                timer = RetryTimer(patience)
                result.add(batch)
                if self.progress is not None:
                    self.progress(batch)
            if answer.error is None:
                return
            if not answer.error.transient:
                raise answer.error
            away = isinstance(answer.error, Unreachable) and not result.upserted + result.failed
            pause = (contact if away else timer).pause(answer.error)


def upload(
    documents: Iterable[Line] | Table,
    collection: str = "default",
    *,
    progress: Callable[[StoredBatch], None] | None = None,
    retry_for_s: float = RETRY_FOR_S,
    rejected: Literal["raise", "report"] = "raise",
) -> Upload:
    """Store any number of documents. Raises RejectedDocuments if some cannot be stored.

    They are read while they are sent, 256 or a megabyte a request. After an interruption, documents whose storage was
    not acknowledged are sent again: an id that another client has changed meanwhile gets the uploaded text. Until the
    first is stored, a service that cannot be reached is tried as often as by other calls.

    Args:
        documents: `Document`s, dictionaries with `id`, `text` and `metadata`, or lines of JSON, such as a file opened
            by `open("documents.jsonl", "rb")`; or a DataFrame with the columns `id` and `text`, whose other columns are
            metadata, without cells that are missing.
        collection: an existing collection.
        progress: called with every batch that is on disk.
        retry_for_s: seconds without progress after which the upload fails; calling it again is harmless.
        rejected: whether documents that cannot be stored raise an error, once all others are stored, or are only
            reported in the result.

    Example:
        >>> created = client.create_collection("notes")
        >>> texts = ["The lamp flickers.", "", "The door squeaks."]
        >>> notes = [{"id": str(i), "text": text} for i, text in enumerate(texts, 1)]
        >>> done = client.upload(notes, "notes", rejected="report")
        >>> done.upserted, [(problem.line, problem.code) for problem in done.refused]
        (2, [(2, 'empty_text')])
    """
    if isinstance(documents, str | bytes | Mapping):
        raise TypeError("documents must be an iterable of documents or lines, such as a list or an open file")
    if rejected not in ("raise", "report"):
        raise ValueError(f"rejected must be 'raise' or 'report', not {rejected!r}")
    rows = _rows(documents) if isinstance(documents, Table) else documents
    return Upload(rows, collection, progress, retry_for_s, rejected)


def _rows(table: Table) -> Iterator[dict[str, Any]]:
    """The rows of a DataFrame as documents. Raises ValueError: a column is missing."""
    columns = [str(column) for column in table.columns]
    if missing := {"id", "text"}.difference(columns):
        raise ValueError(f"the DataFrame has no column {' and no column '.join(sorted(missing))}: it has {columns}")
    present = table.notna().itertuples(index=False, name=None)
    for row, has_value in zip(table.itertuples(index=False, name=None), present, strict=True):
        cells = {column: cell for column, cell, has in zip(columns, row, has_value, strict=True) if has}
        id_ = {"id": str(cells.pop("id"))} if "id" in cells else {}
        text = {"text": cells.pop("text")} if "text" in cells else {}
        yield {**id_, **text, "metadata": {**cells.pop("metadata", {}), **cells}}


def stored_batch(event: dict[str, Any], first: int = 1) -> StoredBatch:
    """One line of a response, numbered in the whole upload. Raises KeyError, TypeError."""
    refused, warned = (
        tuple(
            LineProblem(first - 1 + each["line"], each["code"], each["pointer"].removeprefix("/"), each["detail"])
            for each in event[name]
        )
        for name in ("errors", "warnings")
    )
    return StoredBatch(first - 1 + event["through_line"], event["upserted"], len(event["truncated"]), refused, warned)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The batches that a response acknowledges, and the error that ends it, if any."""

    batches: list[StoredBatch]
    error: SemblanceError | None = None


def _read(path: str, response: httpx2.Response, first: int) -> _Answer:
    """Read the response to lines that begin with number `first`."""
    if response.has_redirect_location:
        return _Answer([], foreign(f"POST {path}", response))
    if response.is_error:
        return _Answer([], error_of("POST", path, response))
    batches: list[StoredBatch] = []
    for line in filter(None, response.content.split(b"\n")):
        try:
            event = json.loads(line)
            if event.get("done"):
                return _Answer(batches)
            if "error" in event:
                return _Answer(batches, _broken(path, event, response))
            batches.append(stored_batch(event, first))
        except (ValueError, KeyError, TypeError, AttributeError):
            return _Answer(batches, foreign(f"POST {path}", response))
    return _Answer(batches, Unavailable(f"POST {path}: the response is incomplete"))


def _broken(path: str, event: dict[str, Any], response: httpx2.Response) -> SemblanceError:
    """The error that ends a response."""
    code, detail = str(event["error"]), str(event.get("detail"))
    request_id = response.headers.get("x-request-id")
    kind = Unavailable if code in TRANSIENT else SemblanceError
    return kind(f"POST {path}: {code}: {detail}", Refusal(response.status_code, code, detail, request_id))


def _noting_repeated(documents: Iterable[Line], seen: SeenIds, result: Uploaded) -> Iterator[Line]:
    """The documents; those that replace an earlier one are warnings of the result."""
    for number, document in enumerate(documents, 1):
        if isinstance(document, str | bytes):
            yield document
            continue
        fields = as_json(document)
        id_ = fields.get("id")
        former = seen.replaced_by(number, id_) if isinstance(id_, str) else None
        if former is not None and len(result.warned) < PROBLEMS:
            detail = f"{id_!r} is also that of document {former}, which this one replaces"
            result.warned.append(LineProblem(number, "repeated_id", "id", detail))
        yield fields


def _chunks(documents: Iterable[Line]) -> Iterator[list[bytes]]:
    """Split documents into requests, each of complete lines."""
    chunk: list[bytes] = []
    size = 0
    for document in documents:
        line = _line(document)
        if chunk and (len(chunk) == LINES_PER_REQUEST or size + len(line) > BYTES_PER_REQUEST):
            yield chunk
            chunk, size = [], 0
        chunk.append(line)
        size += len(line)
    if chunk:
        yield chunk


def _line(document: Line) -> bytes:
    r"""A document as a line that ends.

    >>> _line({"id": "1", "text": "A"}), _line(b'{"id": "1"}'), _line('{"id": "1"}\r\n')
    (b'{"id": "1", "text": "A"}\n', b'{"id": "1"}\n', b'{"id": "1"}\n')
    """
    content = document.encode(errors="surrogatepass") if isinstance(document, str) else document
    line = content if isinstance(content, bytes) else json_bytes(as_json(content))
    return line.rstrip(b"\r\n") + b"\n"
