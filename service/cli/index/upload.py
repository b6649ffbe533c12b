"""Upload of a file as the console shows it: guesses, progress, and refused rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from semblance_client import StoredBatch

from semblance.models.files.lines import UTF_8
from semblance.service.cli.index.rows import DocumentRows, RowMessages
from semblance.service.cli.toolbox.console import counter_bar, print_line
from semblance.service.files.fields import TEXT, DocumentFields
from semblance.service.files.folder import PageFolder
from semblance.service.files.formats.tables import DelimitedText
from semblance.service.files.sources import RowSource

if TYPE_CHECKING:
    from semblance.service.cli.batches.vector_files import VectorSpace

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}


@dataclass(frozen=True, slots=True)
class FileUpload:
    """The rows of a file or folder, and how far they are.

    `space` is that of their vectors, if they have any.
    """

    console: Console
    file: Path
    source: RowSource
    rows: DocumentRows
    space: VectorSpace | None = None

    def prepare(self) -> None:
        """Read the file as far as needed, and say what was guessed. Raises BadDataSet."""
        of_bytes = self.source.unit == "line"
        with counter_bar(self.console, f"reading {self.file.name}", self.source.size, of_bytes=of_bytes) as advance:
            fields = self.rows.prepare(advance)
        if guessed := list(self._guessed(fields)):
            print_line(self.console, f"{self.file}: {'; '.join(guessed)}")

    def _guessed(self, fields: DocumentFields) -> Iterator[str]:
        """Encoding, separator and fields, in words, where they are guesses."""
        how = self.source.reading
        if how.encoding not in (None, UTF_8):
            yield f"encoding {how.encoding}"
        if how.separator not in (None, ","):
            yield f"separated by {SEPARATORS.get(how.separator, how.separator)}"
        if fields.texts:
            yield f"{TEXT}: {' + '.join(fields.texts)}"
        if fields.id is not None:
            yield f"id: {fields.id}"
        elif fields.no_id:
            unit = self.source.unit
            yield f"id: {unit} number, because {fields.no_id} (where {unit}s may move, name a column by --id-field)"

    @contextmanager
    def bar(self) -> Iterator[Callable[[StoredBatch], None]]:
        """Show progress over the file; yields the callback for a batch on disk."""
        count = DownloadColumn() if self.source.unit == "line" else MofNCompleteColumn()
        columns = (TextColumn("{task.description}"), BarColumn(), count, TextColumn("{task.fields[rate]}"))
        with Progress(*columns, TimeRemainingColumn(), console=self.console) as bar:
            task = bar.add_task(self.file.name, total=self.source.size, rate="")

            def acknowledge(batch: StoredBatch) -> None:
                self.rows.acknowledge(batch)
                elapsed = bar.tasks[task].elapsed or 1e-9
                rate = f"{batch.through_line / elapsed:,.0f} documents/s"
                bar.update(task, completed=self.rows.position, rate=rate)

            yield acknowledge

    def note(self, line: str) -> None:
        """Print a line, if there is one."""
        if line:
            print_line(self.console, line)

    def print(self, collection: str) -> None:
        """List rejected rows and those with warnings, and print the counts."""
        outcome, unit = self.rows.outcome, self.source.unit
        if self.source.unnamed:
            numbers = ", ".join(map(str, self.source.unnamed))
            print_line(self.console, f"{self.file}: warning: columns without a name are left out: {numbers}")
        if isinstance(self.source, PageFolder) and self.source.left_out:
            print_line(self.console, f"{self.file}: left out: {_counted(self.source.left_out)}")
        if isinstance(self.source, DelimitedText) and self.source.blank:
            print_line(self.console, f"{self.file}: left out: rows without a value {self.source.blank:,}")
        for messages, kind in ((outcome.refused, ""), (outcome.warned, "warning: "), (outcome.repeated, "warning: ")):
            self._print_messages(messages, kind)
        stored = f"{outcome.upserted:,} documents stored in {collection}"
        truncated = f"{outcome.truncated:,} of them truncated to the model's input length"
        reasons = f" ({_counted(outcome.refused.counts)})" if outcome.refused.count else ""
        repeated = (
            f"; {unit}s with an id that came before: {outcome.repeated.count:,}" if outcome.repeated.count else ""
        )
        print_line(
            self.console, f"{stored}, {truncated}; {unit}s refused: {outcome.refused.count:,}{reasons}{repeated}"
        )

    def _print_messages(self, messages: RowMessages, kind: str) -> None:
        source = self.source
        places: dict[str, list[str]] = {}
        for number, message in messages.first:
            place = source.name_of(number) if isinstance(source, PageFolder) else str(number)
            places.setdefault(message, []).append(place)
        for message, where in places.items():
            unit = "" if isinstance(source, PageFolder) else f"{source.unit}{'s' * (len(where) > 1)} "
            print_line(self.console, f"{self.file}, {unit}{', '.join(where)}: {kind}{message}")
        if messages.count > len(messages.first):
            print_line(self.console, f"... and {messages.count - len(messages.first):,} more {source.unit}s")


def _counted(counts: Mapping[str, int]) -> str:
    """Counts by name, the largest first.

    >>> _counted({".png": 1, ".zip": 1200})
    '.zip 1,200, .png 1'
    """
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items(), key=lambda each: -each[1]))
