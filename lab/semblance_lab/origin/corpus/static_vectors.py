"""Learn static vectors of subwords from the corpus, to initialize networks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from gensim.models import Word2Vec
from numpy.typing import NDArray

from semblance.models.embeddings import Doubles, Floats
from semblance.models.projections.common_component_removal import CommonComponentRemoval
from semblance.models.weightings.sif import A
from semblance_lab.origin.errors import BadCorpus

BATCH = 10_000  # sentences read at once
WINDOW = 5  # tokens on either side that a token predicts
NEGATIVE = 5  # negative samples per prediction
SAMPLE = 20_000  # sentences that the common component is estimated from


class TokenRows(Protocol):
    """A table of tokens, one row per sentence."""

    def __len__(self) -> int: ...

    def rows(self, numbers: Sequence[int]) -> list[NDArray[np.int32]]:
        """Tokens of the sentences with these numbers."""


@dataclass(frozen=True, slots=True)
class SkipGram:
    """Settings of skip-gram: word2vec's defaults, except that every subword gets a vector.

    Attributes:
        dim: dimension of a vector.
        epochs: passes over the corpus.
        seed: of weights and samples.
    """

    dim: int
    epochs: int = 5
    seed: int = 0


def learn_vectors(tokens: TokenRows, size: int, settings: SkipGram) -> Doubles:
    """Learn and weight the vectors (size, dim) of all subwords. Raises BadCorpus: no tokens."""
    return weight_vectors(*train_skip_gram(tokens, size, settings), tokens)


def train_skip_gram(tokens: TokenRows, size: int, settings: SkipGram) -> tuple[Floats, Doubles]:
    """Learn vectors (size, dim) of all subwords by word2vec, and count the subwords (size,).

    Runs in one thread, so that the same corpus and seed give the same vectors. A subword that does not occur has a zero
    vector.

    Raises:
        BadCorpus: there are no tokens.
    """
    if not any(len(row) for row in _GensimSentences(tokens).rows()):
        raise BadCorpus("the corpus has no tokens to learn vectors of")
    model = Word2Vec(
        _GensimSentences(tokens),
        vector_size=settings.dim,
        epochs=settings.epochs,
        window=WINDOW,
        negative=NEGATIVE,
        seed=settings.seed,
        sg=1,
        min_count=1,
        workers=1,
    ).wv
    vectors, counts = np.zeros((size, settings.dim), np.float32), np.zeros(size)
    ids = np.array(model.index_to_key, dtype=np.int64)
    vectors[ids] = model.vectors
    counts[ids] = [model.get_vecattr(key, "count") for key in model.index_to_key]
    return vectors, counts


def weight_vectors(vectors: Floats, counts: Doubles, tokens: TokenRows) -> Doubles:
    """Weight vectors (v, d) so that a sentence is their mean; no norm exceeds 1.

    Each is centred on the mean of all subwords that occur, scaled to unit length, and weighted by smooth inverse
    frequency, a / (a + p) with a = 0.001; then the common component of the corpus's sentences is removed.

    Source: arora-etal-2017-sif, algorithm 1, except that subword vectors are first centred and scaled to unit length.
    """
    occurs = counts > 0
    centered = np.where(occurs[:, None], vectors - vectors[occurs].mean(0, dtype=np.float64), 0.0)
    lengths = np.linalg.norm(centered, axis=1, keepdims=True)
    weighted = centered / np.where(lengths > 0, lengths, 1.0) * (A / (A + counts / counts.sum()))[:, None]
    weighted -= weighted.mean(1, keepdims=True)  # a layer norm would remove this too
    sample = range(0, len(tokens), max(1, len(tokens) // SAMPLE))
    sentences = np.array([weighted[row].mean(0) for row in tokens.rows(sample) if len(row)])
    without: Doubles = weighted @ CommonComponentRemoval().fit(sentences).matrix
    return without


class _GensimSentences:
    """Sentences in gensim's format: repeatable iteration over lists of strings."""

    def __init__(self, tokens: TokenRows) -> None:
        self._tokens = tokens

    def __iter__(self) -> Iterator[list[str]]:
        return (list(map(str, row.tolist())) for row in self.rows())

    def rows(self) -> Iterator[NDArray[np.int32]]:
        for start in range(0, len(self._tokens), BATCH):
            yield from self._tokens.rows(range(start, min(start + BATCH, len(self._tokens))))
