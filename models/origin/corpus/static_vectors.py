"""A vector a piece of a word, learned from the corpus: what a surrogate can start from without any other model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from gensim.models import Word2Vec
from numpy.typing import NDArray

from semblance.models.embeddings import Doubles, Floats
from semblance.models.origin.errors import BadCorpus
from semblance.models.projections.common_component_removal import CommonComponentRemoval
from semblance.models.weightings.sif import A

AT_ONCE = 10_000  # sentences that are read together
WINDOW = 5  # tokens on either side that a token is to predict
NEGATIVE = 5  # random tokens that are told apart from each of them
SAMPLE = 20_000  # sentences that the common component is taken from


class Tokens(Protocol):
    """What is asked of a table of tokens."""

    def __len__(self) -> int: ...

    def rows(self, numbers: Sequence[int]) -> list[NDArray[np.int32]]:
        """The tokens of some sentences."""


@dataclass(frozen=True, slots=True)
class SkipGram:
    """How vectors are learned; word2vec's own choices, but that every piece has a vector.

    Attributes:
        dim: numbers of a vector.
        epochs: how often the corpus is seen.
        seed: of weights and draws.
    """

    dim: int
    epochs: int = 5
    seed: int = 0


def learn(tokens: Tokens, size: int, how: SkipGram) -> Doubles:
    """The vectors (size, dim) of all pieces, weighted. Raises BadCorpus: there is no token."""
    return weighted(*skip_gram(tokens, size, how), tokens)


def skip_gram(tokens: Tokens, size: int, how: SkipGram) -> tuple[Floats, Doubles]:
    """The vectors (size, dim) of all pieces as word2vec learns them, and how often each stands in the corpus (size,).

    One thread learns, so that the same corpus and seed give the same vectors. A piece that does not occur has a vector
    of zeros.

    Raises:
        BadCorpus: there is no token.
    """
    if not any(len(row) for row in _Rows(tokens).all()):
        raise BadCorpus("the corpus has no token to learn vectors of")
    found = Word2Vec(
        _Rows(tokens),
        vector_size=how.dim,
        epochs=how.epochs,
        window=WINDOW,
        negative=NEGATIVE,
        seed=how.seed,
        sg=1,
        min_count=1,
        workers=1,
    ).wv
    vectors, counts = np.zeros((size, how.dim), np.float32), np.zeros(size)
    numbers = np.array(found.index_to_key, dtype=np.int64)
    vectors[numbers] = found.vectors
    counts[numbers] = [found.get_vecattr(key, "count") for key in found.index_to_key]
    return vectors, counts


def weighted(vectors: Floats, counts: Doubles, tokens: Tokens) -> Doubles:
    """The vectors (v, d) whose mean is the vector of a sentence, none longer than 1.

    Each is centred on the mean of all pieces that occur, brought to unit length, and weighted by smooth inverse
    frequency, a / (a + p) with a = 0.001; then the component that sentences of the corpus have in common is taken out.

    Source: arora-etal-2017-sif, algorithm 1, but that a piece's vector is centred and of unit length before.
    """
    occurs = counts > 0
    centred = np.where(occurs[:, None], vectors - vectors[occurs].mean(0, dtype=np.float64), 0.0)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    found = centred / np.where(lengths > 0, lengths, 1.0) * (A / (A + counts / counts.sum()))[:, None]
    found -= found.mean(1, keepdims=True)  # a layer norm would take this out, too
    sample = range(0, len(tokens), max(1, len(tokens) // SAMPLE))
    sentences = np.array([found[row].mean(0) for row in tokens.rows(sample) if len(row)])
    without: Doubles = found @ CommonComponentRemoval().fit(sentences).matrix
    return without


class _Rows:
    """The sentences as gensim wants them: as often as it asks, tokens as strings."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def __iter__(self) -> Iterator[list[str]]:
        return (list(map(str, row.tolist())) for row in self.all())

    def all(self) -> Iterator[NDArray[np.int32]]:
        for start in range(0, len(self._tokens), AT_ONCE):
            yield from self._tokens.rows(range(start, min(start + AT_ONCE, len(self._tokens))))
