"""Inputs of fast harvests: short sentences, and a teacher that counts words."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from semblance.models.embeddings import Doubles
from semblance.models.origin.corpus.documents import words
from semblance.models.origin.harvest.harvest import HarvestSource, PairScores, Teacher
from semblance.models.origin.scoring.scoring import Form
from tests.models.training.tiny_runs import NOUNS, VERBS


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

    def __len__(self) -> int:
        return len(self.lines)

    def text(self, i: int) -> str:
        return self.lines[i]

    def texts(self, numbers: Sequence[int] | NDArray[np.int64]) -> list[str]:
        return [self.lines[i] for i in numbers]


@dataclass(frozen=True)
class SharedWords:
    """Ranks chunks by the number of different words they share with a sentence."""

    corpus: Lines

    @cached_property
    def chunk_words(self) -> list[set[str]]:
        chunks = range(int(self.corpus.chunk[-1]) + 1)
        texts = (self.corpus.texts(np.flatnonzero(self.corpus.chunk == chunk)) for chunk in chunks)
        return [set(words(" ".join(each))) for each in texts]

    def chunks(self, sentence: str, limit: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        own = set(words(sentence))
        scores = np.array([len(own & chunk) for chunk in self.chunk_words], dtype=float)
        order = np.argsort(-scores, kind="stable")[:limit]
        order = order[scores[order] > 0]
        return order, scores[order]


@dataclass
class WordCounts:
    """A teacher by cosines and correlations of word counts, with fallback for ships."""

    settings: Mapping[str, object] = field(default_factory=lambda: {"size": 100, "corpus": "lines"})
    calls: int = 0

    def about(self) -> Mapping[str, object]:
        return self.settings

    def all_pairs(self, texts: Sequence[str]) -> PairScores:
        self.calls += 1
        vocabulary = sorted({word for text in texts for word in words(text)})
        counts = np.array([[words(text).count(word) for word in vocabulary] for text in texts], dtype=float) + 0.1
        unit = counts / np.linalg.norm(counts, axis=1, keepdims=True)
        near = np.array(["ship" in text for text in texts])
        scores: dict[Form, Doubles] = {
            "cosine": unit @ unit.T,
            "centred": np.asarray(np.corrcoef(counts)),
            "double_centred": np.asarray(np.corrcoef(counts - counts.mean(axis=0))),
        }
        return PairScores(scores, near)


def small_corpus(documents: int = 12, sentences: int = 12) -> Lines:
    draw = random.Random(0)
    unique: dict[str, None] = {}  # as in a real corpus, no sentence is repeated
    while len(unique) < documents * sentences:
        one, other, third = draw.sample(NOUNS, 3)
        unique[f"The {one} {draw.choice(VERBS)} the {other} and the {third}."] = None
    lines = list(unique)
    return Lines([lines[i : i + sentences] for i in range(0, len(lines), sentences)])


def small_source(corpus: Lines | None = None, teacher: Teacher | None = None) -> HarvestSource:
    corpus = corpus or small_corpus()
    return HarvestSource(corpus, SharedWords(corpus), np.ones(len(corpus), np.bool_), teacher or WordCounts())
