"""Sample bundles of sentences from a corpus; all pairs of a bundle are scored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Integers
from semblance_lab.origin.corpus.documents import words
from semblance_lab.origin.errors import BadCorpus
from semblance_lab.origin.scoring.term_table import ChunkSearch

SentenceKind: TypeAlias = Literal["anchor", "near", "document", "random"]

BATCH = 10_000  # sentences whose words are counted at once


class SampledCorpus(Protocol):
    """Interface of the corpus that bundles are sampled from."""

    @property
    def document(self) -> NDArray[np.int32]:
        """(n,) document of each sentence, ascending."""

    @property
    def chunk(self) -> NDArray[np.int32]:
        """(n,) chunk of each sentence, ascending."""

    def __len__(self) -> int: ...

    def text(self, i: int) -> str:
        """Sentence i."""

    def texts(self, numbers: Sequence[int] | Integers) -> list[str]:
        """The sentences with these numbers."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """Composition of a bundle beside its anchor, and which sentences are eligible.

    Attributes:
        near: sentences similar to the anchor, from other documents.
        document: sentences of its document.
        random: random sentences.
        chunks: screened chunks to search for the near ones.
        fewest_words: minimum for a sentence to be eligible: contexts cannot distinguish single words.
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
    """Sentences whose pairs are scored: different numbers, the anchor first, and their kinds."""

    number: int
    sentences: tuple[int, ...]
    kinds: tuple[SentenceKind, ...]

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Positions of both sentences of every pair."""
        return combinations(range(len(self.sentences)), 2)


class BundleSampler:
    """Samples bundles by number.

    Scoring a sentence means finding its contexts, which is slow; scoring another pair of two such sentences is fast. So
    sentences are sampled in small bundles: an anchor; the sentences most similar to it, by the Jaccard index of their
    words, in the chunks that screening finds for it, at most one per chunk and none of its document; sentences of its
    document; and random ones. If there are too few of a kind, random ones replace them, and are labelled random.

    A sentence is eligible if it has enough words, and if the teacher reads all of it. No two bundles have the same
    anchor. A bundle depends on corpus, mixture, seed and its number only, so that a harvest can be sharded by number.
    The paper does not say how its pairs were sampled.

    Args:
        corpus: n sentences.
        screening: finds the near ones.
        readable: (n,) whether the teacher reads all of a sentence.
        mixture: composition of a bundle.
        seed: of all draws.

    Raises:
        BadCorpus: fewer sentences are eligible than a bundle needs.

    Source: sun-etal-2022-origin, section 3.4.
    """

    def __init__(
        self, corpus: SampledCorpus, screening: ChunkSearch, readable: NDArray[np.bool_], mixture: Mixture, seed: int
    ) -> None:
        self._corpus = corpus
        self._screening = screening
        self._readable = readable
        self._mixture = mixture
        self._seed = seed
        if len(self._anchors) < mixture.sentences:
            raise BadCorpus(
                f"the corpus has {len(self._anchors)} sentences of {mixture.fewest_words} words or more that the "
                f"teacher reads completely, too few for bundles of {mixture.sentences}"
            )

    def __len__(self) -> int:
        """Number of possible bundles: one for every eligible sentence."""
        return len(self._anchors)

    def bundle(self, number: int) -> Bundle:
        """Sample the bundle with a number, from 0."""
        random = np.random.default_rng((self._seed, number))
        anchor = int(self._anchors[number])
        kinds: dict[int, SentenceKind] = {anchor: "anchor"}
        for i in self._near(anchor):
            kinds[i] = "near"
        first, last = _range_of(self._corpus.document, self._corpus.document[anchor])
        candidates = random.permutation(np.flatnonzero(self._eligible[first:last]) + first)
        for i in [int(i) for i in candidates if i not in kinds][: self._mixture.document]:
            kinds[i] = "document"
        while len(kinds) < self._mixture.sentences:
            kinds.setdefault(int(random.choice(self._anchors)), "random")
        return Bundle(number, tuple(kinds), tuple(kinds.values()))

    @cached_property
    def _anchors(self) -> Integers:
        """Eligible sentences, in the order of the bundles that they are anchors of."""
        return np.random.default_rng(self._seed).permutation(np.flatnonzero(self._eligible))

    @cached_property
    def _eligible(self) -> NDArray[np.bool_]:
        starts = range(0, len(self._corpus), BATCH)
        texts = (self._corpus.texts(range(i, min(i + BATCH, len(self._corpus)))) for i in starts)
        fewest = self._mixture.fewest_words
        return self._readable & np.fromiter(
            (len(words(each)) >= fewest for each in chain.from_iterable(texts)), np.bool_
        )

    def _near(self, anchor: int) -> list[int]:
        """The sentences most similar to the anchor, best first; ties in the order of their chunks."""
        text = self._corpus.text(anchor)
        own = set(words(text))
        similar: dict[int, float] = {}
        for chunk in self._screening.chunks(text, self._mixture.chunks)[0]:
            first, last = _range_of(self._corpus.chunk, chunk)
            candidates = [int(i) for i in range(first, last) if self._eligible[i]]
            if candidates and self._corpus.document[first] != self._corpus.document[anchor]:
                sets = [set(words(each)) for each in self._corpus.texts(candidates)]
                indices = [len(own & each) / len(own | each) for each in sets]
                similar[candidates[int(np.argmax(indices))]] = max(indices)
        return sorted(similar, key=lambda i: -similar[i])[: self._mixture.near]


def _range_of(numbers: NDArray[np.int32], number: np.integer) -> tuple[int, int]:
    """Where a number begins and ends in an ascending array."""
    # keys of another type would convert the whole array, for every bundle
    first, last = np.searchsorted(numbers, np.array([number, number + 1], numbers.dtype)).tolist()
    return first, last
