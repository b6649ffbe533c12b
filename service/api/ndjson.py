"""Bodies of many JSON documents, one a line, read and answered as they come."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from semblance.models.errors import SemblanceError
from semblance.service.api.errors import FRAMEWORK_CODES, part_of
from semblance.service.api.json_values import MOST_VALUES, too_many_values
from semblance.service.api.paths import is_documents
from semblance.service.api.schemas.collections import DocumentIn, LineRefused, StreamBroken, StreamDone, StreamStored
from semblance.service.errors import Problem
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.documents import Document, Version
from semblance.service.usecases.index_stream import Line, Stored

MEDIA_TYPE = "application/x-ndjson"
_MEDIA_TYPE = re.compile(r"application/(x-)?ndjson\s*(;.*)?", re.IGNORECASE)


def is_ndjson(method: str, path: str, headers: Mapping[str, str]) -> bool:
    """Whether a request brings documents line by line: such a body may have any length."""
    declared = _MEDIA_TYPE.fullmatch(headers.get("content-type", ""))
    return method == "POST" and declared is not None and is_documents(path)


async def read_lines(body: AsyncIterator[bytes], max_line_bytes: int) -> AsyncIterator[Line]:
    """The lines of a body that are not blank, each held in memory up to the limit only."""
    number, coming = 1, _ComingLine(max_line_bytes)
    async for piece in body:
        *ends, rest = piece.split(b"\n")
        for end in ends:
            coming.add(end)
            line = coming.whole()
            if line is None or line.strip():
                yield Line(number, _read(line, max_line_bytes))
            number += 1
        coming.add(rest)
    line = coming.whole()
    if line is None or line.strip():
        yield Line(number, _read(line, max_line_bytes))


class _ComingLine:
    """A line whose end is still to come. Each piece is copied once, however small it is."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = bytearray()
        self._too_long = False

    def add(self, piece: bytes) -> None:
        """Take what follows; of a line over the limit nothing is kept."""
        self._too_long = self._too_long or len(self._bytes) + len(piece) > self._max_bytes
        if self._too_long:
            self._bytes.clear()
        else:
            self._bytes += piece

    def whole(self) -> bytes | None:
        """The line, None if it is too long; the next one begins."""
        line = None if self._too_long else bytes(self._bytes)
        self._bytes.clear()
        self._too_long = False
        return line


def _read(line: bytes | None, max_line_bytes: int) -> Document | Problem:
    """The document that a line holds, by the same rules as in a JSON body."""
    if line is None:
        return Problem("", "body_too_large", f"the line has more than {max_line_bytes:,} bytes")
    if too_many_values(line):
        return Problem("", "body_too_large", f"the line has more than {MOST_VALUES:,} values")
    try:
        given = DocumentIn.model_validate(json.loads(line))
    except ValidationError as error:
        return part_of(error.errors()[0])
    except (ValueError, RecursionError):
        return Problem("", "malformed_json", "the line is not JSON")
    return Document(given.id, given.text, given.metadata)


class StreamAnswer(StreamingResponse):
    """One JSON object a line, a line for each batch as soon as it is on disk, and a last one that says how it ended.

    Starlette's own way of sending also listens for the client's leaving, and would thereby swallow parts of a body that
    is still coming; here the envelope listens.

    The answer begins with its first line. Once it has begun, nginx passes on no more of the body than fits into
    buffers; so what is stored as one batch comes through it whole.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        del scope, receive
        lines = aiter(self.body_iterator)
        self.body_iterator = _with_first(await anext(lines), lines)
        await self.stream_response(send)


async def _with_first(first: Any, rest: AsyncIterator[Any]) -> AsyncIterator[Any]:
    yield first
    async for each in rest:
        yield each


async def answered(batches: AsyncIterator[Stored], metrics: Metrics) -> AsyncIterator[bytes]:
    """The lines of the answer. An error ends them with a line that says which; what was answered before is stored."""
    upserted = failed = through_line = 0
    version: Version | None = None
    try:
        async for batch in batches:
            upserted, failed = upserted + batch.upserted, failed + len(batch.refused)
            through_line, version = batch.through_line, batch.version or version
            yield _line(stored_out(batch))
    except (SemblanceError, HTTPException) as error:
        refusal = error.detail if isinstance(error, HTTPException) else str(error)
        code = FRAMEWORK_CODES[error.status_code] if isinstance(error, HTTPException) else error.code
        metrics.errors.labels(code).inc()
        yield _line(StreamBroken(error=code, detail=refusal, through_line=through_line))
    else:
        last = StreamDone(upserted=upserted, failed=failed, version=None if version is None else str(version))
        yield _line(last)


def stored_out(batch: Stored) -> StreamStored:
    """A batch as JSON."""
    return StreamStored(
        through_line=batch.through_line,
        upserted=batch.upserted,
        version=None if batch.version is None else str(batch.version),
        truncated=list(batch.truncated),
        errors=[
            LineRefused(
                line=line.number, pointer=line.problem.pointer, code=line.problem.code, detail=line.problem.detail
            )
            for line in batch.refused
        ],
    )


def _line(answer: StreamStored | StreamDone | StreamBroken) -> bytes:
    return answer.model_dump_json().encode() + b"\n"
