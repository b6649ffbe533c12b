"""Which chunks of a corpus share bigrams with a sentence."""

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
from semblance.models.origin.corpus.array_files import GrowingArray, mapped
from semblance.models.origin.corpus.corpus import Corpus
from semblance.models.origin.corpus.words import words
from semblance.models.origin.errors import BadOrigin

FEATURES = 2**24  # as DrQA has, so that of the bigrams of a small corpus few share one
AT_ONCE = 2_000  # chunks that are counted at once
POSTINGS_AT_ONCE = 2**24  # bigrams of chunks that are put in order at once, about
_ARRAYS = ("features", "starts", "chunks", "counts", "total")


class Screening:
    """TF-IDF weighted bags of bigrams of N chunks, turned round: for each bigram, the chunks that hold it.

    With tf the count of a bigram b in a text and n_b the number of chunks that hold it::

        idf(b) = max(0, log((N - n_b + 0.5) / (n_b + 0.5)))
        score(sentence, chunk) = sum_b log(1 + tf(b, sentence)) idf(b) log(1 + tf(b, chunk)) idf(b)

    A bigram is two words that follow each other in a sentence, in lower case and without punctuation; in scripts of
    Han characters each of these is a word. Bigrams are hashed to 2**24 numbers. The arrays are mapped into memory, and
    a query reads only what belongs to its own bigrams.

    The score is at least 0. A bigram that more than half of the chunks hold counts nothing, and a sentence of one word
    has none.

    Source: sun-etal-2022-origin, the choice of contexts, which gives no weights: they are those of DrQA, cited there.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._features, self._starts, self._chunks, self._counts = (arrays[name] for name in _ARRAYS[:-1])
        self._total = int(arrays["total"].item())

    @classmethod
    def open(cls, folder: Path) -> Screening:
        """What `write_screening` wrote, in a folder such as `runs/origin/screening`.

        Raises:
            BadOrigin: there is none, or it is broken.
        """
        arrays = {name: mapped(folder / f"{name}.npy", "semblance origin corpus") for name in _ARRAYS}
        sizes = {name: len(array) for name, array in arrays.items() if array.ndim}
        ends = arrays["starts"][-1:].tolist()
        if sizes["starts"] != sizes["features"] + 1 or not ends == [sizes["chunks"]] == [sizes["counts"]]:
            raise BadOrigin(f"{folder} is broken: its files do not belong together")
        return cls(arrays)

    @property
    def bigrams(self) -> int:
        """How many there are, those that share a number counted once."""
        return len(self._features)

    @property
    def postings(self) -> int:
        """In how many chunks they stand, all together."""
        return len(self._chunks)

    def chunks(self, sentence: str, limit: int) -> tuple[NDArray[np.int64], Doubles]:
        """The chunks that share most with a sentence, and their scores.

        Args:
            sentence: any text.
            limit: at most so many chunks.

        Returns:
            Numbers of chunks, best first, those of equal score in ascending order, and scores above 0; both empty
            where nothing is shared.
        """
        query = _counted([[sentence]])
        at = np.searchsorted(self._features, query.indices)
        scores = np.zeros(self._total)
        for place, feature, count in zip(at.tolist(), query.indices.tolist(), query.data.tolist(), strict=True):
            if place < len(self._features) and self._features[place] == feature:
                start, end = self._starts[place : place + 2].tolist()
                weight = np.log1p(count) * self._idf(end - start) ** 2
                scores[self._chunks[start:end]] += weight * np.log1p(self._counts[start:end], dtype=np.float64)
        found = np.flatnonzero(scores > 0)
        best = found[np.argsort(-scores[found], kind="stable")[:limit]]
        return best.astype(np.int64), scores[best]

    def _idf(self, holding: int) -> float:
        return max(0.0, float(np.log((self._total - holding + 0.5) / (holding + 0.5))))


def write_screening(corpus: Corpus, folder: Path, advance: Advance) -> None:
    """Write the arrays that `Screening` reads.

    What is counted lies in files on the way, twelve bytes a bigram of a chunk, and is put in order by ranges of
    features, some 16 million bigrams of chunks at a time. Memory holds these, and a byte of each of all others.

    Args:
        corpus: whose chunks.
        folder: an empty one.
        advance: is told how many more chunks are counted.
    """
    with TemporaryDirectory(dir=folder) as scratch:
        by_chunk = _Postings.counted(corpus, Path(scratch), advance)
        narrow = np.min_scalar_type(int(by_chunk.counts.max(initial=0)))  # mostly a byte
        types: tuple[DTypeLike, ...] = (np.int32, np.int64, np.int32, narrow)
        with ExitStack() as stack:
            features, starts, chunks, counts = (
                stack.enter_context(GrowingArray(folder / f"{name}.npy", dtype))
                for name, dtype in zip(_ARRAYS, types, strict=False)
            )
            done = 0
            for some in by_chunk.by_feature():
                its, first = np.unique(some.features, return_index=True)
                features.append(its)
                starts.append(first + done)
                chunks.append(some.chunks)
                counts.append(some.counts)
                done += len(some.features)
            starts.append(np.array([done]))
    np.save(folder / f"{_ARRAYS[-1]}.npy", np.array(corpus.chunks))


@dataclass(frozen=True, slots=True, eq=False)
class _Postings:
    """Features, the chunks that hold them, and how often each does: three arrays of one length."""

    features: NDArray[np.int32]
    chunks: NDArray[np.int32]
    counts: NDArray[np.int32]

    @classmethod
    def counted(cls, corpus: Corpus, folder: Path, advance: Advance) -> Self:
        """Those of a corpus, chunk by chunk, in files of a folder."""
        files = [folder / f"{name}.npy" for name in ("features", "chunks", "counts")]
        with ExitStack() as stack:
            arrays = [stack.enter_context(GrowingArray(file, np.int32)) for file in files]
            chunks, done = _chunks(corpus), 0
            while batch := list(islice(chunks, AT_ONCE)):
                table = _counted(batch)
                owners = np.repeat(np.arange(done, done + len(batch)), np.diff(table.indptr))
                columns: tuple[NDArray[Any], ...] = (table.indices, owners, table.data)
                for array, values in zip(arrays, columns, strict=True):
                    array.append(values)
                done += len(batch)
                advance(len(batch))
        return cls(*(mapped(file, "semblance origin corpus") for file in files))

    def by_feature(self) -> Iterator[Self]:
        """The same ordered by feature, and then by chunk, in parts: no feature is in two of them."""
        parts = 1 + len(self.features) // POSTINGS_AT_ONCE
        for low, high in pairwise(np.linspace(0, FEATURES, parts + 1).astype(np.int64).tolist()):
            at = np.flatnonzero((self.features >= low) & (self.features < high))
            at = at[np.argsort(self.features[at], kind="stable")]
            yield type(self)(self.features[at], self.chunks[at], self.counts[at])


def bigrams(sentence: str) -> list[str]:
    """The pairs of words that follow each other.

    >>> bigrams("The dog's bone, 你好")
    ['the dog', 'dog s', 's bone', 'bone 你', '你 好']
    """
    return [f"{left} {right}" for left, right in pairwise(words(sentence))]


def _of_all(sentences: Sequence[str]) -> list[str]:
    return list(chain.from_iterable(map(bigrams, sentences)))


_COUNTER = HashingVectorizer(n_features=FEATURES, analyzer=_of_all, norm=None, alternate_sign=False, dtype=np.int32)


def _counted(chunks: Sequence[Sequence[str]]) -> scipy.sparse.csr_matrix:
    """(chunks, FEATURES) how often each bigram stands in each."""
    found: scipy.sparse.csr_matrix = _COUNTER.transform(chunks)
    return found


def _chunks(corpus: Corpus) -> Iterator[list[str]]:
    """The sentences of each chunk."""
    numbered = zip(corpus.chunk.tolist(), corpus, strict=True)
    return ([text for _, text in members] for _, members in groupby(numbered, lambda pair: pair[0]))
