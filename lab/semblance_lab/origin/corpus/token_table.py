"""Token ids of every sentence of a corpus, computed once and memory-mapped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semblance.models.files.lines import Advance
from semblance_lab.origin.corpus.array_files import growing_array, open_mapped
from semblance_lab.origin.corpus.corpus import Corpus
from semblance_lab.origin.corpus.vocabulary import Vocabulary
from semblance_lab.origin.errors import BadOrigin
from semblance_lab.origin.origin_folder import CorpusPart

BATCH = 10_000  # sentences tokenized at once


class TokenTable:
    """Token ids of n sentences, concatenated in a memory-mapped file, and their offsets.

    Attributes:
        lengths: (n,) number of tokens of each sentence; at least one.
    """

    def __init__(self, ids: NDArray[np.integer[Any]], offsets: NDArray[np.int64]) -> None:
        self._ids = ids
        self._offsets = offsets
        self.lengths: NDArray[np.int32] = np.diff(offsets).astype(np.int32)

    @classmethod
    def open(cls, folder: Path, part: CorpusPart = "train") -> TokenTable:
        """Open the table of a part of the corpus, in a folder such as `runs/origin/tokens`.

        Raises:
            BadOrigin: it is missing or broken.
        """
        ids, offsets = (
            open_mapped(folder / f"{part}-{what}.npy", "semblance origin corpus") for what in ("ids", "offsets")
        )
        if not len(offsets) or offsets[-1] != len(ids):
            raise BadOrigin(f"{folder} is broken: {part}-offsets.npy does not belong to {part}-ids.npy")
        return cls(ids, offsets)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def tokens(self) -> int:
        """Total number of tokens."""
        return len(self._ids)

    def rows(self, numbers: Sequence[int] | NDArray[np.integer[Any]]) -> list[NDArray[np.int32]]:
        """Token ids of the sentences with these numbers, in this order."""
        at = np.asarray(numbers, np.int64)
        starts, ends = self._offsets[at].tolist(), self._offsets[at + 1].tolist()
        return [self._ids[start:end].astype(np.int32) for start, end in zip(starts, ends, strict=True)]


def write_token_table(corpus: Corpus, vocabulary: Vocabulary, max_tokens: int, folder: Path, advance: Advance) -> None:
    """Write the files that `TokenTable` opens, in one pass.

    Args:
        corpus: one part of a corpus.
        vocabulary: encodes the sentences; ids are stored in two bytes if all of them fit.
        max_tokens: a sentence is truncated to.
        folder: of the files, shared by both parts.
        advance: progress callback: receives the number of new sentences encoded.
    """
    dtype = np.uint16 if vocabulary.size <= 2**16 else np.int32
    ids_file, offsets_file = (folder / f"{corpus.part}-{what}.npy" for what in ("ids", "offsets"))
    with growing_array(ids_file, dtype) as add_ids, growing_array(offsets_file, np.int64) as add_offsets:
        end = 0
        add_offsets(np.zeros(1, np.int64))
        for texts in _batches(corpus):
            rows = vocabulary.encode(texts, max_tokens)
            ends = end + np.cumsum([len(row) for row in rows])
            add_ids(np.concatenate(rows))
            add_offsets(ends)
            end = int(ends[-1])
            advance(len(texts))


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield lists of at most `BATCH` texts."""
    rest = iter(texts)
    while batch := list(islice(rest, BATCH)):
        yield batch
