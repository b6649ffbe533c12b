"""Rows of a file on their way into a collection: what was sent, stored and rejected."""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace

from semblance_client import StoredBatch
from semblance_client.calls.seen_ids import SeenIds

from semblance.models.files.lines import Advance
from semblance.service.files.column_types import column_types
from semblance.service.files.fields import DocumentFields
from semblance.service.files.guesses import guessed_fields
from semblance.service.files.sources import RowProblem, RowSource, SourceRow

SHOWN = 20  # refused rows that are listed, and as many with a warning


@dataclass(slots=True)
class RowMessages:
    """Messages about rows: how many by code, and the first ones as (row, message)."""

    counts: Counter[str] = field(default_factory=Counter)
    first: list[tuple[int, str]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of all."""
        return self.counts.total()

    def add(self, number: int, code: str, detail: str) -> None:
        """Count a message about a row, and keep it if it is among the first."""
        self.counts[code] += 1
        self.first = heapq.nsmallest(SHOWN, [*self.first, (number, f"{code}: {detail}")])


@dataclass(slots=True)
class Outcome:
    """Counts of rows; messages about those rejected, with a warning, or with an earlier id."""

    upserted: int = 0
    truncated: int = 0
    refused: RowMessages = field(default_factory=RowMessages)
    warned: RowMessages = field(default_factory=RowMessages)
    repeated: RowMessages = field(default_factory=RowMessages)


class DocumentRows:
    """Rows of a file as lines of NDJSON, read while they are sent.

    Lines are numbered from 1 as they are sent, rows as they stand in the file; only the numbers of rows that are not
    yet acknowledged are kept.

    Attributes:
        outcome: what became of the rows so far.
        position: how much of `source.size` has been read.
    """

    def __init__(self, source: RowSource, fields: DocumentFields) -> None:
        self.outcome = Outcome()
        self.position = 0
        self._source = source
        self._fields = fields
        self._unacknowledged: deque[int] = deque()
        self._acknowledged = 0  # lines

    def prepare(self, advance: Advance) -> DocumentFields:
        """Read the file as far as needed to know its fields and the types of its columns.

        Raises:
            BadDataSet: a field is missing, or a row malformed, so that none of the file should be stored.
        """
        self._fields = guessed_fields(self._source, self._fields)
        if self._source.columns is not None:
            self._fields.require(self._source.columns)
        if not self._source.typed:
            casts = column_types(self._source.rows(advance))
            self._fields = replace(self._fields, casts=casts)
        return self._fields

    def __iter__(self) -> Iterator[bytes]:
        """The documents; other rows are rejected. Raises BadDataSet."""
        with closing(SeenIds()) as seen:
            for row in self._source.rows(self._advance):
                match self._fields.document(row):
                    case RowProblem() as problem:
                        self.outcome.refused.add(row.number, problem.code, problem.detail)
                    case line:
                        self._note_repeated(row, seen)
                        self._unacknowledged.append(row.number)
                        yield line

    def acknowledge(self, batch: StoredBatch) -> None:
        """Count a batch that is on disk."""
        self.outcome.upserted += batch.upserted
        self.outcome.truncated += batch.truncated
        for messages, problems in ((self.outcome.refused, batch.refused), (self.outcome.warned, batch.warned)):
            for problem in problems:
                column = self._fields.column(problem.field)
                number = self._unacknowledged[problem.line - self._acknowledged - 1]
                messages.add(number, problem.code, f"{column}: {problem.detail}" if column else problem.detail)
        while self._acknowledged < batch.through_line:
            self._unacknowledged.popleft()
            self._acknowledged += 1

    def _note_repeated(self, row: SourceRow, seen: SeenIds) -> None:
        given = self._fields.given_id(row)
        former = None if given is None else seen.replaced_by(row.number, given)
        if former is not None:
            detail = f"{given!r} is also that of {self._source.unit} {former}; the last of such rows is kept"
            self.outcome.repeated.add(row.number, "repeated_id", detail)

    def _advance(self, more: int) -> None:
        self.position += more
