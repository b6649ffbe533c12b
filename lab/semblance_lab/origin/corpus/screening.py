"""Find the chunks of a corpus that share bigrams with a sentence, by TF-IDF."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, groupby, islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import DTypeLike, NDArray
from sklearn.feature_extraction.text import HashingVectorizer

from semblance.models.embeddings import Doubles
from semblance.models.files.lines import Advance
from semblance_lab.origin.corpus.corpus import Corpus, growing_array, open_mapped
from semblance_lab.origin.corpus.documents import words
from semblance_lab.origin.errors import BadOrigin

FEATURES = 2**24  # as in DrQA, so that hashed bigrams of a small corpus rarely collide
BATCH = 2_000  # chunks per call of the bigram counter
POSTINGS_PER_BATCH = 2**24  # postings sorted at once, approximately
_ARRAYS = ("features", "starts", "chunks", "counts", "total")


class Screening:
    """Inverted index of N chunks as TF-IDF weighted bags of bigrams.

    With tf the count of a bigram b in a text and n_b the number of chunks that contain it::

        idf(b) = max(0, log((N - n_b + 0.5) / (n_b + 0.5)))
        score(sentence, chunk) = sum_b log(1 + tf(b, sentence)) idf(b) log(1 + tf(b, chunk)) idf(b)

    A bigram is a pair of adjacent words of a sentence, in lower case and without punctuation; Han characters are words.
    Bigrams are hashed to 2**24 numbers. The arrays are memory-mapped, and a query reads only the postings of its
    bigrams.

    The score is at least 0. A bigram that more than half of the chunks contain counts nothing, and a sentence of one
    word has none.

    Source: sun-etal-2022-origin, the choice of contexts, which gives no weights: they are those of DrQA, cited there.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._features, self._starts, self._chunks, self._counts = (arrays[name] for name in _ARRAYS[:-1])
        self._total = int(arrays["total"].item())

    @classmethod
    def open(cls, folder: Path) -> Screening:
        """Open the arrays of `write_screening` in a folder such as `runs/origin/screening`.

        Raises:
            BadOrigin: they are missing or broken.
        """
        arrays = {name: open_mapped(folder / f"{name}.npy", "semblance origin corpus") for name in _ARRAYS}
        sizes = {name: len(array) for name, array in arrays.items() if array.ndim}
        ends = arrays["starts"][-1:].tolist()
        if sizes["starts"] != sizes["features"] + 1 or not ends == [sizes["chunks"]] == [sizes["counts"]]:
            raise BadOrigin(f"{folder} is broken: its files do not belong together")
        return cls(arrays)

    @property
    def bigrams(self) -> int:
        """Number of different hashed bigrams."""
        return len(self._features)

    @property
    def postings(self) -> int:
        """Number of pairs of bigram and chunk."""
        return len(self._chunks)

    def chunks(self, sentence: str, limit: int) -> tuple[NDArray[np.int64], Doubles]:
        """Find the chunks with the highest scores.

        Args:
            sentence: any text.
            limit: maximal number of chunks.

        Returns:
            Numbers of chunks, best first, ties in ascending order, and their scores, all above 0; both empty if no
            bigram is shared.
        """
        query = _count_bigrams([[sentence]])
        at = np.searchsorted(self._features, query.indices)
        scores = np.zeros(self._total)
        for place, feature, count in zip(at.tolist(), query.indices.tolist(), query.data.tolist(), strict=True):
            if place < len(self._features) and self._features[place] == feature:
                start, end = self._starts[place : place + 2].tolist()
                weight = np.log1p(count) * self._idf(end - start) ** 2
                scores[self._chunks[start:end]] += weight * np.log1p(self._counts[start:end], dtype=np.float64)
        matches = np.flatnonzero(scores > 0)
        best = matches[np.argsort(-scores[matches], kind="stable")[:limit]]
        return best.astype(np.int64), scores[best]

    def _idf(self, chunks: int) -> float:
        return max(0.0, float(np.log((self._total - chunks + 0.5) / (chunks + 0.5))))


def write_screening(corpus: Corpus, folder: Path, advance: Advance) -> None:
    """Write the arrays that `Screening` opens.

    Postings are first written chunk by chunk to temporary files, twelve bytes each, and then sorted by ranges of
    features, about 16 million at a time. Memory: these, and one byte per posting in total.

    Args:
        corpus: the indexed corpus.
        folder: an empty one.
        advance: progress callback: receives the number of new chunks counted.
    """
    with TemporaryDirectory(dir=folder) as scratch:
        by_chunk = _Postings.count(corpus, Path(scratch), advance)
        narrow = np.min_scalar_type(int(by_chunk.counts.max(initial=0)))  # mostly a byte
        types: tuple[DTypeLike, ...] = (np.int32, np.int64, np.int32, narrow)
        with ExitStack() as stack:
            add_features, add_starts, add_chunks, add_counts = (
                stack.enter_context(growing_array(folder / f"{name}.npy", dtype))
                for name, dtype in zip(_ARRAYS, types, strict=False)
            )
            done = 0
            for postings in by_chunk.by_feature():
                different, first = np.unique(postings.features, return_index=True)
                add_features(different)
                add_starts(first + done)
                add_chunks(postings.chunks)
                add_counts(postings.counts)
                done += len(postings.features)
            add_starts(np.array([done]))
    np.save(folder / f"{_ARRAYS[-1]}.npy", np.array(corpus.chunks))


@dataclass(frozen=True, slots=True, eq=False)
class _Postings:
    """Features, chunks that contain them, and their counts there: three arrays of one length."""

    features: NDArray[np.int32]
    chunks: NDArray[np.int32]
    counts: NDArray[np.int32]

    @classmethod
    def count(cls, corpus: Corpus, folder: Path, advance: Advance) -> Self:
        """Count the bigrams of a corpus chunk by chunk, into files of a folder."""
        files = [folder / f"{name}.npy" for name in ("features", "chunks", "counts")]
        with ExitStack() as stack:
            appends = [stack.enter_context(growing_array(file, np.int32)) for file in files]
            chunks, done = _chunk_sentences(corpus), 0
            while batch := list(islice(chunks, BATCH)):
                table = _count_bigrams(batch)
                owners = np.repeat(np.arange(done, done + len(batch)), np.diff(table.indptr))
                columns: tuple[NDArray[Any], ...] = (table.indices, owners, table.data)
                for append, values in zip(appends, columns, strict=True):
                    append(values)
                done += len(batch)
                advance(len(batch))
        return cls(*(open_mapped(file, "semblance origin corpus") for file in files))

    def by_feature(self) -> Iterator[Self]:
        """Yield the postings sorted by feature and chunk, in parts that share no feature."""
        parts = 1 + len(self.features) // POSTINGS_PER_BATCH
        for low, high in pairwise(np.linspace(0, FEATURES, parts + 1).astype(np.int64).tolist()):
            at = np.flatnonzero((self.features >= low) & (self.features < high))
            at = at[np.argsort(self.features[at], kind="stable")]
            yield type(self)(self.features[at], self.chunks[at], self.counts[at])


def bigrams(sentence: str) -> list[str]:
    """List the pairs of adjacent words.

    >>> bigrams("The dog's bone, 你好")
    ['the dog', 'dog s', 's bone', 'bone 你', '你 好']
    """
    return [f"{left} {right}" for left, right in pairwise(words(sentence))]


def _all_bigrams(sentences: Sequence[str]) -> list[str]:
    return list(chain.from_iterable(map(bigrams, sentences)))


_COUNTER = HashingVectorizer(
    n_features=FEATURES, analyzer=_all_bigrams, norm=None, alternate_sign=False, dtype=np.int32
)


def _count_bigrams(chunks: Sequence[Sequence[str]]) -> scipy.sparse.csr_matrix:
    """(chunks, FEATURES) count of each bigram in each chunk."""
    counts: scipy.sparse.csr_matrix = _COUNTER.transform(chunks)
    return counts


def _chunk_sentences(corpus: Corpus) -> Iterator[list[str]]:
    """Sentences of each chunk."""
    numbered = zip(corpus.chunk.tolist(), corpus, strict=True)
    return ([text for _, text in members] for _, members in groupby(numbered, lambda pair: pair[0]))
