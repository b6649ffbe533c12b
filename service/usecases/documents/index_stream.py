"""Store a stream of documents in batches, as they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from semblance_client.vocabulary.documents import LineWarning, RejectedLine, StoredLines
from semblance_client.vocabulary.responses import RequestWarning

from semblance.service.errors import PartsRefused, Problem
from semblance.service.ports.documents import Document
from semblance.service.usecases.documents.index import IndexDocuments, IndexingResult

BATCH = 256  # documents that are embedded and committed together
BATCH_CHARS = 4_000_000  # of their texts together, which bounds the memory of a stream
FLUSH_S = 1.0  # a partial batch is stored when no line arrives for that long
CONCURRENT_BATCHES = 2  # of all streams together; further streams wait, and backpressure reaches their senders


@dataclass(frozen=True, slots=True)
class StreamLine:
    """A line of the stream, numbered from 1: a document, or the reason why it is none."""

    number: int
    content: Document | Problem


@dataclass(frozen=True, slots=True)
class _DocumentLine:
    number: int
    document: Document


@dataclass(slots=True)
class _Batch:
    documents: list[_DocumentLine] = field(default_factory=list)
    rejected: list[RejectedLine] = field(default_factory=list)
    through_line: int = 0
    chars: int = 0

    def add(self, line: StreamLine) -> None:
        self.through_line = line.number
        match line.content:
            case Document():
                self.documents.append(_DocumentLine(line.number, line.content))
                self.chars += len(line.content.text)
            case Problem():
                self.rejected.append(_rejected(line.number, line.content))

    @property
    def full(self) -> bool:
        """Whether to store it before adding another line."""
        return len(self.documents) + len(self.rejected) >= BATCH or self.chars >= BATCH_CHARS


class IndexStream:
    """Stores documents as background work, and reports the lines that cannot be stored."""

    def __init__(self, index_documents: IndexDocuments) -> None:
        self._index_documents = index_documents
        self._concurrency = asyncio.Semaphore(CONCURRENT_BATCHES)

    async def store(self, name: str, lines: AsyncIterator[StreamLine]) -> AsyncIterator[StoredLines]:
        """Store lines; yield each batch once it is on disk.

        Raises:
            UnknownCollection, SpaceMismatch, WriteConflict, NotReady: see semblance.service.errors. The batches
                yielded before are stored; send the rest again.
        """
        async for batch in _batches(lines):
            async with self._concurrency:
                committed = await self._store(name, batch)
            yield committed

    async def _store(self, name: str, batch: _Batch) -> StoredLines:
        """Store a batch without rejected documents, all of which an error names."""
        accepted, rejected = await self._checked(name, batch.documents)
        latest = _latest(accepted)
        indexed: IndexingResult | None = None
        while latest and indexed is None:
            try:
                indexed = await self._index_documents.store(name, [line.document for line in latest], bulk=True)
            except PartsRefused as error:
                _, more = _without_rejected(latest, error)
                rejected += more
                numbers = {rejected_line.line for rejected_line in more}
                accepted = [line for line in accepted if line.number not in numbers]
                latest = _latest(accepted)  # a line that is rejected replaces none
        return StoredLines(
            through_line=batch.through_line,
            upserted=len(accepted),
            version=str(indexed.version) if indexed else None,
            truncated=list(indexed.truncated) if indexed else [],
            errors=sorted([*batch.rejected, *rejected], key=lambda rejected: rejected.line),
            warnings=[_warned(latest, warning) for warning in indexed.warnings] if indexed else [],
        )

    async def _checked(self, name: str, lines: list[_DocumentLine]) -> tuple[list[_DocumentLine], list[RejectedLine]]:
        """Check lines if ids repeat: one that is rejected replaces none, and is always reported."""
        rejected: list[RejectedLine] = []
        while len(_latest(lines)) < len(lines):
            try:
                await self._index_documents.check(name, dict(enumerate(line.document for line in lines)))
                break
            except PartsRefused as error:
                lines, more = _without_rejected(lines, error)
                rejected += more
        return lines, rejected


async def _batches(lines: AsyncIterator[StreamLine]) -> AsyncIterator[_Batch]:
    batch = _Batch()
    next_line = asyncio.ensure_future(anext(lines, None))
    try:
        while True:
            await asyncio.wait({next_line}, timeout=FLUSH_S if batch.through_line else None)
            if not next_line.done():
                yield batch
                batch = _Batch()
                continue
            line = next_line.result()
            if line is None:
                break
            if batch.full:
                yield batch
                batch = _Batch()
            batch.add(line)
            next_line = asyncio.ensure_future(anext(lines, None))
    finally:
        next_line.cancel()
    if batch.through_line:
        yield batch


def _latest(lines: Sequence[_DocumentLine]) -> list[_DocumentLine]:
    """The last line of each id, in order."""
    numbers = {line.document.id: line.number for line in lines}
    return [line for line in lines if line.number == numbers[line.document.id]]


def _without_rejected(
    lines: Sequence[_DocumentLine], error: PartsRefused
) -> tuple[list[_DocumentLine], list[RejectedLine]]:
    """The lines that the error does not name, and those that it names."""
    problems = {_position(problem.pointer): problem for problem in error.problems}
    rejected = [
        _rejected(lines[i].number, replace(problem, pointer=_relative(problem.pointer)))
        for i, problem in problems.items()
    ]
    return [line for i, line in enumerate(lines) if i not in problems], rejected


def _rejected(line: int, problem: Problem) -> RejectedLine:
    return RejectedLine(line=line, pointer=problem.pointer, code=problem.code, detail=problem.detail)


def _warned(lines: Sequence[_DocumentLine], warning: RequestWarning) -> LineWarning:
    number = lines[_position(warning.pointer)].number
    return LineWarning(line=number, pointer=_relative(warning.pointer), code=warning.code, detail=warning.detail)


def _position(pointer: str) -> int:
    """Index of the document in a pointer: 3 in /documents/3/text."""
    return int(pointer.split("/")[2])


def _relative(pointer: str) -> str:
    """The same pointer into the document instead of the request: /text for /documents/3/text."""
    _, _, _, *inner = pointer.split("/")
    return "".join(f"/{step}" for step in inner)
