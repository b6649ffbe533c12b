"""Upload of any number of documents as NDJSON, resumed after interruptions."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import httpx2

from semblance_client.calls.wire import NewDocument, as_json, documents_path, json_bytes
from semblance_client.errors import (
    TRANSIENT,
    Refusal,
    SemblanceError,
    Unavailable,
    UnexpectedAnswer,
    Unreachable,
    error_of,
)
from semblance_client.steps import Request, Retries, RetryTimer, Steps

LINES_PER_REQUEST = 256  # stored as one batch, whose answer a proxy passes on at once
BYTES_PER_REQUEST = 1_000_000
RETRY_FOR_S = 60.0  # without progress
PROBLEMS = 100  # that a result keeps

Line: TypeAlias = NewDocument | bytes | str
"""A document, or a line of NDJSON."""


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
        warned: the first 100 lines that were stored with a warning.
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


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload that is not begun; see `upload`."""

    documents: Iterable[Line]
    collection: str
    progress: Callable[[StoredBatch], None] | None
    retry_for_s: float

    def steps(self, retries: Retries) -> Steps[Uploaded]:
        """Send all documents, and those not acknowledged again. Raises SemblanceError."""
        result, contact = Uploaded(), RetryTimer(retries)
        first = 1
        for lines in _chunks(self.documents):
            yield from self._store(lines, first, contact, result)
            first += len(lines)
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
    documents: Iterable[Line],
    collection: str = "default",
    *,
    progress: Callable[[StoredBatch], None] | None = None,
    retry_for_s: float = RETRY_FOR_S,
) -> Upload:
    """Store any number of documents; those that cannot be stored are reported.

    They are read while they are sent, 256 or a megabyte a request. After an interruption, documents whose storage was
    not acknowledged are sent again: an id that another client has changed meanwhile gets the uploaded text. Until the
    first is stored, a service that cannot be reached is tried as often as by other calls.

    Args:
        documents: `Document`s, dictionaries with `id`, `text` and `metadata`, or lines of JSON, such as a file opened
            by `open("documents.jsonl", "rb")`.
        collection: an existing collection.
        progress: called with every batch that is on disk.
        retry_for_s: seconds without progress after which the upload fails; calling it again is harmless.

    Example:
        >>> created = client.create_collection("notes")
        >>> texts = ["The lamp flickers.", "", "The door squeaks."]
        >>> done = client.upload(({"id": str(i), "text": text} for i, text in enumerate(texts, 1)), "notes")
        >>> done.upserted, [(problem.line, problem.code) for problem in done.refused]
        (2, [(2, 'empty_text')])
    """
    if isinstance(documents, str | bytes | Mapping):
        raise TypeError("documents must be an iterable of documents or lines, such as a list or an open file")
    return Upload(documents, collection, progress, retry_for_s)


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
            text = f"POST {path}: the answer is not one of Semblance: {line[:200]!r}"
            return _Answer(batches, UnexpectedAnswer(text))
    return _Answer(batches, Unavailable(f"POST {path}: the answer is incomplete"))


def _broken(path: str, event: dict[str, Any], response: httpx2.Response) -> SemblanceError:
    """The error that ends a response."""
    code, detail = str(event["error"]), str(event.get("detail"))
    request_id = response.headers.get("x-request-id")
    kind = Unavailable if code in TRANSIENT else SemblanceError
    return kind(f"POST {path}: {code}: {detail}", Refusal(response.status_code, code, detail, request_id))


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
