"""The ids of every sentence of a corpus, computed once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semblance.models.files.lines import Advance
from semblance.models.origin.corpus.array_files import GrowingArray, mapped
from semblance.models.origin.corpus.corpus import Corpus, Part
from semblance.models.origin.corpus.vocabulary import Vocabulary
from semblance.models.origin.errors import BadOrigin

AT_ONCE = 10_000  # sentences that are tokenised at once


class TokenTable:
    """The ids of n sentences, one after the other in a file that is mapped into memory, and where each begins.

    Attributes:
        lengths: (n,) how many tokens each has; at least one.
    """

    def __init__(self, ids: NDArray[np.integer[Any]], offsets: NDArray[np.int64]) -> None:
        self._ids = ids
        self._offsets = offsets
        self.lengths: NDArray[np.int32] = np.diff(offsets).astype(np.int32)

    @classmethod
    def open(cls, folder: Path, part: Part = "train") -> TokenTable:
        """The table of a part of the corpus, in a folder such as `runs/origin/tokens`.

        Raises:
            BadOrigin: there is none, or it is broken.
        """
        ids, offsets = (mapped(folder / f"{part}-{what}.npy", "semblance origin corpus") for what in ("ids", "offsets"))
        if not len(offsets) or offsets[-1] != len(ids):
            raise BadOrigin(f"{folder} is broken: {part}-offsets.npy does not belong to {part}-ids.npy")
        return cls(ids, offsets)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def tokens(self) -> int:
        """How many tokens all sentences have together."""
        return len(self._ids)

    def rows(self, numbers: Sequence[int] | NDArray[np.integer[Any]]) -> list[NDArray[np.int32]]:
        """The ids of the sentences of these numbers, in their order."""
        at = np.asarray(numbers, np.int64)
        starts, ends = self._offsets[at].tolist(), self._offsets[at + 1].tolist()
        return [self._ids[start:end].astype(np.int32) for start, end in zip(starts, ends, strict=True)]


def write_token_table(corpus: Corpus, vocabulary: Vocabulary, max_tokens: int, folder: Path, advance: Advance) -> None:
    """Write what `TokenTable` opens, in one pass.

    Args:
        corpus: a part.
        vocabulary: gives the ids, two bytes each where they all fit into these.
        max_tokens: that a sentence is cut to.
        folder: for the files, those of the other part beside them.
        advance: is told how many more sentences are done.
    """
    dtype = np.uint16 if vocabulary.size <= 2**16 else np.int32
    ids_file, offsets_file = (folder / f"{corpus.part}-{what}.npy" for what in ("ids", "offsets"))
    with GrowingArray(ids_file, dtype) as ids, GrowingArray(offsets_file, np.int64) as offsets:
        end = 0
        offsets.append(np.zeros(1, np.int64))
        for texts in _batches(corpus):
            rows = vocabulary.encode(texts, max_tokens)
            ends = end + np.cumsum([len(row) for row in rows])
            ids.append(np.concatenate(rows))
            offsets.append(ends)
            end = int(ends[-1])
            advance(len(texts))


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Lists of at most `AT_ONCE` texts."""
    rest = iter(texts)
    while batch := list(islice(rest, AT_ONCE)):
        yield batch
