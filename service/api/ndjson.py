"""NDJSON: one document a line, read, stored and acknowledged as they arrive."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError
from semblance_client.vocabulary.documents import NewDocument, StoredLines, UploadBroken, UploadDone
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from semblance.models.errors import SemblanceError
from semblance.service.api.edge.request_body import MAX_VALUES, too_many_values
from semblance.service.api.errors import FRAMEWORK_CODES, internal_error, part_of
from semblance.service.errors import Problem
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.documents import Document
from semblance.service.usecases.documents.index_stream import StreamLine
from semblance.service.usecases.documents.store import document_of

MEDIA_TYPE = "application/x-ndjson"

log = logging.getLogger(__name__)


async def read_lines(body: AsyncIterator[bytes], max_line_bytes: int) -> AsyncIterator[StreamLine]:
    """The lines of a body that are not blank; at most `max_line_bytes` of it are in memory."""
    number, buffer = 1, _LineBuffer(max_line_bytes)
    async for piece in body:
        *ends, rest = piece.split(b"\n")
        for end in ends:
            buffer.add(end)
            line = buffer.take()
            if line is None or line.strip():
                yield StreamLine(number, read_document(line, max_line_bytes))
            number += 1
        buffer.add(rest)
    line = buffer.take()
    if line is None or line.strip():
        yield StreamLine(number, read_document(line, max_line_bytes))


class _LineBuffer:
    """An incomplete line. Each piece is copied once, however small it is."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = bytearray()
        self._too_long = False

    def add(self, piece: bytes) -> None:
        """Append a piece; of a line over the limit nothing is kept."""
        self._too_long = self._too_long or len(self._bytes) + len(piece) > self._max_bytes
        if self._too_long:
            self._bytes.clear()
        else:
            self._bytes += piece

    def take(self) -> bytes | None:
        """Return the complete line, None if it is too long, and start the next."""
        line = None if self._too_long else bytes(self._bytes)
        self._bytes.clear()
        self._too_long = False
        return line


def read_document(line: bytes | None, max_line_bytes: int) -> Document | Problem:
    """Parse the document of a line, by the same rules as in a JSON body."""
    if line is None:
        return Problem("", "body_too_large", f"the line exceeds the limit of {max_line_bytes:,} bytes")
    if too_many_values(line):
        return Problem("", "body_too_large", f"the line exceeds the limit of {MAX_VALUES:,} values")
    try:
        document = NewDocument.model_validate(json.loads(line))
    except ValidationError as error:
        return part_of(error.errors()[0], NewDocument)
    except (ValueError, RecursionError):
        return Problem("", "malformed_json", "the line is not JSON")
    return document_of(document)


class StreamAnswer(StreamingResponse):
    """Stream one JSON line for each batch on disk, and a last one with the outcome.

    Starlette's own StreamingResponse also listens for a disconnect, and would swallow parts of a body that is still
    being received; here the middleware listens.

    The response begins with its first line. Once it has begun, nginx passes on no more of the body than fits into its
    buffers; so a body that is stored as one batch passes through it whole.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        del scope, receive
        lines = aiter(self.body_iterator)
        self.body_iterator = _with_first(await anext(lines), lines)
        await self.stream_response(send)


async def _with_first(first: Any, rest: AsyncIterator[Any]) -> AsyncIterator[Any]:
    yield first
    async for each in rest:
        yield each


class Report(Protocol):
    """The lines of a response, and the last one if they fail."""

    def lines(self) -> AsyncIterator[BaseModel]:
        """All lines, the last one included."""

    def broken(self, code: str, detail: str) -> BaseModel:
        """The last line after an error, in place of the others."""


async def answer_lines(report: Report, metrics: Metrics, request_id: str) -> AsyncIterator[bytes]:
    """Yield the lines of a response; an error ends them with a line that names it."""
    try:
        async for line in report.lines():
            yield _line(line)
    except ClientDisconnect:
        raise
    except (SemblanceError, HTTPException) as error:
        refusal = error.detail if isinstance(error, HTTPException) else str(error)
        code = FRAMEWORK_CODES[error.status_code] if isinstance(error, HTTPException) else error.code
        metrics.errors.labels(code).inc()
        yield _line(report.broken(code, refusal))
    except Exception:
        log.exception("unhandled error", extra={"request_id": request_id})
        metrics.errors.labels("internal_error").inc()
        yield _line(report.broken("internal_error", internal_error(request_id)))


class StoreReport:
    """Reports documents as they are stored: what was reported is on disk."""

    def __init__(self, batches: AsyncIterator[StoredLines]) -> None:
        self._batches = batches
        self._through_line = 0

    async def lines(self) -> AsyncIterator[StoredLines | UploadDone]:
        """A line for each batch on disk, and one with the outcome."""
        upserted = failed = 0
        version: str | None = None
        async for batch in self._batches:
            upserted, failed = upserted + batch.upserted, failed + len(batch.errors)
            self._through_line, version = batch.through_line, batch.version or version
            yield batch
        yield UploadDone(upserted=upserted, failed=failed, version=version)

    def broken(self, code: str, detail: str) -> UploadBroken:
        """The last line after an error."""
        return UploadBroken(error=code, detail=detail, through_line=self._through_line)


def _line(answer: BaseModel) -> bytes:
    return answer.model_dump_json().encode() + b"\n"
