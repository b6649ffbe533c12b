"""Store a stream of documents in batches, as they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from semblance.service.errors import InvalidRequest, Problem
from semblance.service.ports.documents import Document, Version
from semblance.service.usecases.index_documents import IndexDocuments

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
class RefusedLine:
    """A line that was not stored."""

    number: int
    problem: Problem


@dataclass(frozen=True, slots=True)
class CommittedBatch:
    """A batch on disk. All lines up to `through_line` are on disk or were refused."""

    through_line: int
    upserted: int
    version: Version | None
    truncated: Sequence[str]
    refused: Sequence[RefusedLine]


@dataclass(slots=True)
class _Batch:
    documents: dict[str, tuple[int, Document]] = field(default_factory=dict)
    refused: list[RefusedLine] = field(default_factory=list)
    through_line: int = 0
    chars: int = 0

    def add(self, line: StreamLine) -> None:
        self.through_line = line.number
        match line.content:
            case Document():
                self.documents[line.content.id] = (line.number, line.content)
                self.chars += len(line.content.text)
            case Problem():
                self.refused.append(RefusedLine(line.number, line.content))

    def full_for(self, line: StreamLine) -> bool:
        """Whether to flush before `line`; so does a repeated id, so that the later line wins."""
        if isinstance(line.content, Document) and line.content.id in self.documents:
            return True
        return len(self.documents) + len(self.refused) >= BATCH or self.chars >= BATCH_CHARS


class IndexStream:
    """Stores documents as background work, and reports the lines that cannot be stored."""

    def __init__(self, index_documents: IndexDocuments) -> None:
        self._index_documents = index_documents
        self._concurrency = asyncio.Semaphore(CONCURRENT_BATCHES)

    async def __call__(self, name: str, lines: AsyncIterator[StreamLine]) -> AsyncIterator[CommittedBatch]:
        """Store lines; yield each batch once it is on disk.

        Raises:
            UnknownCollection, SpaceMismatch, WriteConflict, NotReady: see semblance.service.errors. The batches
                yielded before are stored; send the rest again.
        """
        async for batch in _batches(lines):
            async with self._concurrency:
                committed = await self._store(name, batch)
            yield committed

    async def _store(self, name: str, batch: _Batch) -> CommittedBatch:
        """Store a batch without refused documents, all of which an InvalidRequest names."""
        accepted, refused = list(batch.documents.values()), list(batch.refused)
        while accepted:
            try:
                indexed = await self._index_documents(name, [document for _, document in accepted], bulk=True)
            except InvalidRequest as error:
                problems = {_position(problem): problem for problem in error.problems}
                refused += [RefusedLine(accepted[i][0], _relative(problem)) for i, problem in problems.items()]
                accepted = [each for i, each in enumerate(accepted) if i not in problems]
                continue
            ordered = sorted(refused, key=lambda line: line.number)
            return CommittedBatch(batch.through_line, indexed.upserted, indexed.version, indexed.truncated, ordered)
        return CommittedBatch(batch.through_line, 0, None, [], sorted(refused, key=lambda line: line.number))


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
            if batch.full_for(line):
                yield batch
                batch = _Batch()
            batch.add(line)
            next_line = asyncio.ensure_future(anext(lines, None))
    finally:
        next_line.cancel()
    if batch.through_line:
        yield batch


def _position(problem: Problem) -> int:
    """Index of the document in a pointer: 3 in /documents/3/text."""
    return int(problem.pointer.split("/")[2])


def _relative(problem: Problem) -> Problem:
    """The same problem, with a pointer into the document instead of the request."""
    _, _, _, *inner = problem.pointer.split("/")
    return Problem("".join(f"/{step}" for step in inner), problem.code, problem.detail)
