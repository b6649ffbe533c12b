"""Storing any number of documents as they come, a batch at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from semblance.service.errors import InvalidRequest, Problem
from semblance.service.ports.documents import Document, Version
from semblance.service.usecases.index_documents import IndexDocuments

BATCH = 256  # documents that are embedded and committed together
BATCH_CHARS = 4_000_000  # of their texts together, which bounds what a stream holds in memory
PATIENCE_S = 1.0  # a batch that is not full is stored when nothing more comes for so long
AT_ONCE = 2  # batches of all streams together that are embedded at once; further streams wait, and so do their senders


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the stream, numbered from 1: a document, or why it is none."""

    number: int
    content: Document | Problem


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A line that was not stored."""

    number: int
    problem: Problem


@dataclass(frozen=True, slots=True)
class Stored:
    """A batch that is on disk. Every line up to `through_line` is in it or in an earlier one, or was refused."""

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

    def add(self, line: Line) -> None:
        self.through_line = line.number
        match line.content:
            case Document():
                self.documents[line.content.id] = (line.number, line.content)
                self.chars += len(line.content.text)
            case Problem():
                self.refused.append(RefusedLine(line.number, line.content))

    def full_for(self, line: Line) -> bool:
        """Whether the batch must be stored before `line`; of two lines with one id the later one thus wins."""
        if isinstance(line.content, Document) and line.content.id in self.documents:
            return True
        return len(self.documents) + len(self.refused) >= BATCH or self.chars >= BATCH_CHARS


class IndexStream:
    """Stores documents as background work; a line that cannot be stored is reported, and the others are kept."""

    def __init__(self, index_documents: IndexDocuments) -> None:
        self._index_documents = index_documents
        self._at_once = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, name: str, lines: AsyncIterator[Line]) -> AsyncIterator[Stored]:
        """What each batch came to, once it is on disk.

        Raises:
            UnknownCollection, SpaceMismatch, WriteConflict, NotReady: see service/errors.py. What was
            answered before is stored; send the rest again.
        """
        async for batch in _batches(lines):
            async with self._at_once:
                stored = await self._store(name, batch)
            yield stored

    async def _store(self, name: str, batch: _Batch) -> Stored:
        """Store a batch without the documents that are refused, of which the refusal names every one."""
        kept, refused = list(batch.documents.values()), list(batch.refused)
        while kept:
            try:
                indexed = await self._index_documents(name, [document for _, document in kept], bulk=True)
            except InvalidRequest as error:
                faults = {_position(problem): problem for problem in error.problems}
                refused += [RefusedLine(kept[i][0], _within(problem)) for i, problem in faults.items()]
                kept = [each for i, each in enumerate(kept) if i not in faults]
                continue
            ordered = sorted(refused, key=lambda line: line.number)
            return Stored(batch.through_line, indexed.upserted, indexed.version, indexed.truncated, ordered)
        return Stored(batch.through_line, 0, None, [], sorted(refused, key=lambda line: line.number))


async def _batches(lines: AsyncIterator[Line]) -> AsyncIterator[_Batch]:
    batch = _Batch()
    coming = asyncio.ensure_future(anext(lines, None))
    try:
        while True:
            await asyncio.wait({coming}, timeout=PATIENCE_S if batch.through_line else None)
            if not coming.done():
                yield batch
                batch = _Batch()
                continue
            line = coming.result()
            if line is None:
                break
            if batch.full_for(line):
                yield batch
                batch = _Batch()
            batch.add(line)
            coming = asyncio.ensure_future(anext(lines, None))
    finally:
        coming.cancel()
    if batch.through_line:
        yield batch


def _position(problem: Problem) -> int:
    """The number of the document that a refusal points to: /documents/3/text is the fourth."""
    return int(problem.pointer.split("/")[2])


def _within(problem: Problem) -> Problem:
    """The same refusal, pointing into the document instead of the list of them."""
    _, _, _, *inner = problem.pointer.split("/")
    return Problem("".join(f"/{step}" for step in inner), problem.code, problem.detail)
