"""The files of a corpus, written batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semblance.models.origin.corpus.corpus import COLUMNS

AT_ONCE = 10_000  # sentences of a batch
LEFT_OUT = -1


class SentenceWriter:
    """An Arrow file of sentences with their numbers of document, run and chunk; whole once the block ends.

    Attributes:
        sentences: how many were added in runs.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stack = ExitStack()
        self._rows: list[tuple[str, int, int, int]] = []
        self.sentences = self._runs = self._chunks = 0

    def __enter__(self) -> SentenceWriter:
        with ExitStack() as stack:
            sink = stack.enter_context(pa.OSFile(str(self._file), "wb"))
            self._arrow = stack.enter_context(pa.ipc.new_file(sink, COLUMNS))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self._flush()
        self._stack.close()

    def add_run(self, document: int, sentences: Sequence[str], chunk_sentences: int) -> None:
        """A run, in chunks of at most so many sentences and of about one length, so that none is a mere rest."""
        chunks = -(-len(sentences) // chunk_sentences)
        for at, sentence in enumerate(sentences):
            self._rows.append((sentence, document, self._runs, self._chunks + at * chunks // len(sentences)))
        self.sentences += len(sentences)
        self._runs += 1
        self._chunks += chunks
        if len(self._rows) >= AT_ONCE:
            self._flush()

    def write(self, batch: pa.RecordBatch) -> None:
        """A batch with its numbers, as it is."""
        self._arrow.write_batch(batch)

    def _flush(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [pa.array(column, kind) for column, kind in zip(columns, COLUMNS.types, strict=True)]
            self.write(pa.record_batch(arrays, schema=COLUMNS))
            self._rows.clear()


def distribute(staged: Path, part_of: NDArray[np.int8], files: Sequence[Path]) -> None:
    """Write the sentences of each part into its file, documents, runs and chunks numbered anew from 0.

    Args:
        staged: what a `SentenceWriter` wrote.
        part_of: (documents,) the number of the file for each document, or LEFT_OUT.
        files: of the parts.
    """
    numberings = [[_Numbering() for _ in COLUMNS.names[1:]] for _ in files]
    with ExitStack() as stack:
        source = stack.enter_context(pa.memory_map(str(staged)))
        writers = [stack.enter_context(SentenceWriter(file)) for file in files]
        reader = pa.ipc.open_file(source)
        for at in range(reader.num_record_batches):
            batch = reader.get_batch(at)
            parts = part_of[batch["document"].to_numpy()]
            for part, writer in enumerate(writers):
                own = batch.filter(pa.array(parts == part))
                if len(own):
                    numbers = zip(numberings[part], own.columns[1:], strict=True)
                    writer.write(
                        pa.record_batch(
                            [own["text"], *(pa.array(each(column.to_numpy())) for each, column in numbers)],
                            schema=COLUMNS,
                        )
                    )


class _Numbering:
    """Ascending numbers with gaps become 0, 1, 2, ..., over any number of batches."""

    def __init__(self) -> None:
        self._old = self._new = -1

    def __call__(self, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        found = self._new + np.cumsum(np.diff(numbers, prepend=np.int32(self._old)) != 0)
        self._old, self._new = int(numbers[-1]), int(found[-1])
        return found.astype(np.int32)
