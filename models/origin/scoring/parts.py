"""What Origin is put together of, each by what is asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Doubles, Floats, Integers
from semblance.models.origin.context_parts import Part

Ids: TypeAlias = NDArray[np.int32]


class Sentences(Protocol):
    """The corpus: sentences by number, in the order of the documents."""

    @property
    def chunk(self) -> NDArray[np.int32]:
        """(sentences,) the chunk that each lies in."""

    def texts(self, numbers: Integers) -> list[str]:
        """Their texts."""

    def contexts(self) -> Integers:
        """The numbers of the sentences that stand between two others of their run, ascending."""


class SentenceTokens(Protocol):
    """The tokens of the sentences of the corpus."""

    def rows(self, numbers: Integers) -> list[Ids]:
        """The tokens of each."""


class Tokenizer(Protocol):
    """Tokens of any text."""

    def encode(self, texts: Sequence[str], max_tokens: int) -> list[Ids]:
        """The first tokens of each, at least one, without special ones."""


class ChunkSearch(Protocol):
    """Finds chunks by the bigrams that they share with a sentence."""

    def chunks(self, sentence: str, limit: int) -> tuple[Integers, Doubles]:
        """The best chunks with their scores, best first; none where nothing is shared."""


class ContextRanking(Protocol):
    """The coherence model (Eq. 1) over the whole corpus."""

    def log_probabilities(self, rows: Sequence[Ids]) -> Floats:
        """(sentences asked, contexts): log p(y=1 | s, l, r) of each sentence in every context, ascending."""

    def nearest(self, rows: Sequence[Ids], limit: int) -> Integers:
        """(sentences asked, limit) the sentences of the corpus with the nearest vectors, best first."""


class Likelihoods(Protocol):
    """The generative models (Eq. 2)."""

    def log_likelihoods(self, part: Part, left: Sequence[Ids], centre: Sequence[Ids], right: Sequence[Ids]) -> Floats:
        """(n,) log-likelihood a token of one part of each three sentences, given the two others."""


@dataclass(frozen=True, slots=True)
class Parts:
    """All of them, made of one corpus."""

    corpus: Sentences
    tokens: SentenceTokens
    vocabulary: Tokenizer
    screening: ChunkSearch
    ranking: ContextRanking
    generation: Likelihoods
