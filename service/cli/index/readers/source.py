"""Rows of a file of documents, in whatever format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from semblance.models.files.lines import Advance


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One row: its number in the file, and its values by name.

    Attributes:
        number: of the first line, or of the row where a format has no lines; from 1.
        fields: the values; or a line to be sent as it is, such as one that is not a JSON object and will be refused.
    """

    number: int
    fields: Mapping[str, Any] | bytes


class RowSource(Protocol):
    """A file whose rows are read in order, as often as wanted, with one row or a few in memory."""

    @property
    def unit(self) -> Literal["line", "row"]:
        """The unit of `SourceRow.number`."""

    @property
    def size(self) -> int:
        """The sum of the progress callback: bytes on disk, or rows if `unit` is "row"."""

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns; None if each row has its own."""

    @property
    def typed(self) -> bool:
        """Whether values have types; otherwise all are strings."""

    def rows(self, advance: Advance | None = None) -> Iterator[SourceRow]:
        """All rows. Raises BadDataSet: the file cannot be read, or a row is malformed."""
