"""A corpus of sentences in memory, and a screening of its chunks by what they share with a sentence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Doubles, Integers


@dataclass(frozen=True)
class Lines:
    """A corpus in memory: documents of sentences, in chunks of `of_chunk` sentences."""

    documents: Sequence[Sequence[str]]
    of_chunk: int = 4

    @cached_property
    def lines(self) -> list[str]:
        return [line for document in self.documents for line in document]

    @cached_property
    def document(self) -> NDArray[np.int32]:
        numbers: NDArray[np.int32] = np.repeat(
            np.arange(len(self.documents), dtype=np.int32), [*map(len, self.documents)]
        )
        return numbers

    @cached_property
    def chunk(self) -> NDArray[np.int32]:
        places = np.concatenate([np.arange(len(each)) for each in self.documents])
        numbers: NDArray[np.int32] = ((places % self.of_chunk == 0).cumsum() - 1).astype(np.int32)
        return numbers

    def contexts(self) -> Integers:
        """Sentences between two others of their document."""
        inside = (self.document[:-2] == self.document[1:-1]) & (self.document[1:-1] == self.document[2:])
        return np.flatnonzero(inside) + 1

    def __len__(self) -> int:
        return len(self.lines)

    def text(self, i: int) -> str:
        return self.lines[i]

    def texts(self, numbers: Sequence[int] | NDArray[np.int64]) -> list[str]:
        return [self.lines[i] for i in numbers]


@dataclass(frozen=True)
class SharedParts:
    """Ranks chunks by the number of different words, or other parts, that they share with a sentence."""

    corpus: Lines
    parts_of: Callable[[str], Collection[object]]

    @cached_property
    def parts(self) -> list[set[object]]:
        found: list[set[object]] = [set() for _ in range(int(self.corpus.chunk[-1]) + 1)]
        for line, chunk in zip(self.corpus.lines, self.corpus.chunk, strict=True):
            found[chunk].update(self.parts_of(line))
        return found

    def chunks(self, sentence: str, limit: int) -> tuple[Integers, Doubles]:
        own = set(self.parts_of(sentence))
        scores = np.array([len(own & chunk) for chunk in self.parts], np.float64)
        order = np.argsort(-scores, kind="stable")[:limit]
        order = order[scores[order] > 0]
        return order, scores[order]
