"""Which sentences of a corpus are compared: small bundles, of which all pairs are scored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Integers
from semblance.models.origin.corpus.words import words
from semblance.models.origin.errors import BadCorpus
from semblance.models.origin.scoring.parts import ChunkSearch

Kind: TypeAlias = Literal["anchor", "near", "document", "random"]

AT_ONCE = 10_000  # sentences whose words are looked at together


class Sentences(Protocol):
    """What is asked of a corpus."""

    @property
    def document(self) -> NDArray[np.int32]:
        """The number of each sentence's document, (n,), ascending."""

    @property
    def chunk(self) -> NDArray[np.int32]:
        """The number of each sentence's chunk, (n,), ascending."""

    def __len__(self) -> int: ...

    def text(self, i: int) -> str:
        """One sentence."""

    def texts(self, numbers: Sequence[int] | Integers) -> list[str]:
        """Some sentences."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """What a bundle holds beside its anchor, and which sentences are drawn.

    Attributes:
        near: sentences like the anchor, from other documents.
        document: sentences of its document.
        random: any sentences.
        chunks: how many chunks screening is asked for, to find the near ones in.
        fewest_words: sentences of fewer words are not drawn: a single one says nothing that contexts could tell apart.
    """

    near: int = 3
    document: int = 1
    random: int = 1
    chunks: int = 50
    fewest_words: int = 2

    @property
    def sentences(self) -> int:
        """Sentences of a bundle."""
        return 1 + self.near + self.document + self.random

    @property
    def pairs(self) -> int:
        """Pairs of a bundle."""
        return self.sentences * (self.sentences - 1) // 2


@dataclass(frozen=True, slots=True)
class Bundle:
    """Sentences of which all pairs are scored: their numbers, each once, the anchor first, and why each is there."""

    number: int
    sentences: tuple[int, ...]
    kinds: tuple[Kind, ...]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The places of both sentences of every pair."""
        return combinations(range(len(self.sentences)), 2)


class Drawing:
    """Bundles, each by its number.

    To score a sentence is to find its contexts, which takes long; to score one more pair of two such sentences takes
    little. So sentences are drawn few at a time: an anchor; the sentences most like it, by Jaccard's index of their
    words, in the chunks that screening finds for it, at most one a chunk and none of its own document; sentences of its
    document; and random ones. Where there are too few of a kind, random ones take their place, and are called so.

    A sentence is drawn if it has words enough, and the teacher reads it to its end. No two bundles have the same
    anchor. A bundle depends on corpus, mixture, seed and its own number only, so that a harvest can be shared out by
    numbers. The paper does not say how its pairs were drawn.

    Args:
        corpus: the sentences, n of them.
        screening: finds the near ones.
        readable: (n,) whether the teacher reads a sentence to its end.
        mixture: what a bundle holds.
        seed: of all draws.

    Raises:
        BadCorpus: fewer sentences can be drawn than a bundle holds.

    Source: sun-etal-2022-origin, section 3.4.
    """

    def __init__(
        self, corpus: Sentences, screening: ChunkSearch, readable: NDArray[np.bool_], mixture: Mixture, seed: int
    ) -> None:
        self._corpus = corpus
        self._screening = screening
        self._readable = readable
        self._mixture = mixture
        self._seed = seed
        if len(self._anchors) < mixture.sentences:
            raise BadCorpus(
                f"the corpus has {len(self._anchors)} sentences of {mixture.fewest_words} words or more that are read "
                f"to their end, too few for bundles of {mixture.sentences}"
            )

    def __len__(self) -> int:
        """How many bundles there can be: one for every sentence that can be drawn."""
        return len(self._anchors)

    def bundle(self, number: int) -> Bundle:
        """The bundle of a number from 0 on."""
        draw = np.random.default_rng((self._seed, number))
        anchor = int(self._anchors[number])
        kinds: dict[int, Kind] = {anchor: "anchor"}
        for i in self._near(anchor):
            kinds[i] = "near"
        first, last = _stretch(self._corpus.document, self._corpus.document[anchor])
        there = draw.permutation(np.flatnonzero(self._drawn[first:last]) + first)
        for i in [int(i) for i in there if i not in kinds][: self._mixture.document]:
            kinds[i] = "document"
        while len(kinds) < self._mixture.sentences:
            kinds.setdefault(int(draw.choice(self._anchors)), "random")
        return Bundle(number, tuple(kinds), tuple(kinds.values()))

    @cached_property
    def _anchors(self) -> Integers:
        """The sentences that can be drawn, in the order in which they are anchors."""
        return np.random.default_rng(self._seed).permutation(np.flatnonzero(self._drawn))

    @cached_property
    def _drawn(self) -> NDArray[np.bool_]:
        starts = range(0, len(self._corpus), AT_ONCE)
        texts = (self._corpus.texts(range(i, min(i + AT_ONCE, len(self._corpus)))) for i in starts)
        fewest = self._mixture.fewest_words
        return self._readable & np.fromiter(
            (len(words(each)) >= fewest for each in chain.from_iterable(texts)), np.bool_
        )

    def _near(self, anchor: int) -> list[int]:
        """The sentences most like the anchor, best first; of equals that of the better chunk."""
        text = self._corpus.text(anchor)
        wanted = set(words(text))
        alike: dict[int, float] = {}
        for chunk in self._screening.chunks(text, self._mixture.chunks)[0]:
            first, last = _stretch(self._corpus.chunk, chunk)
            there = [int(i) for i in range(first, last) if self._drawn[i]]
            if there and self._corpus.document[first] != self._corpus.document[anchor]:
                found = [set(words(each)) for each in self._corpus.texts(there)]
                indices = [len(wanted & each) / len(wanted | each) for each in found]
                alike[there[int(np.argmax(indices))]] = max(indices)
        return sorted(alike, key=lambda i: -alike[i])[: self._mixture.near]


def _stretch(numbers: NDArray[np.int32], number: np.integer) -> tuple[int, int]:
    """Where a number begins and ends among ascending ones."""
    # keys of another type would have the whole array converted, for every bundle
    first, last = np.searchsorted(numbers, np.array([number, number + 1], numbers.dtype)).tolist()
    return first, last
