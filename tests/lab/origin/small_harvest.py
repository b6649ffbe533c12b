"""Inputs of fast harvests: short sentences, and a teacher that counts words."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from semblance.models.embeddings import Doubles
from semblance_lab.origin.corpus.documents import words
from semblance_lab.origin.harvest.harvest import HarvestSource, PairScores, Teacher
from semblance_lab.origin.scoring.scoring import Form
from tests.lab.origin.lines import Lines, SharedParts
from tests.lab.training.tiny_runs import NOUNS, VERBS


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
    return HarvestSource(corpus, SharedParts(corpus, words), np.ones(len(corpus), np.bool_), teacher or WordCounts())
