"""Origin over forty sentences, with models that count words: small, with real probabilities."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from semblance.models.embeddings import Floats, Integers
from semblance_lab.origin.origin_settings import ContextSettings
from semblance_lab.origin.scoring.origin import Origin
from semblance_lab.origin.scoring.scoring import ContextPart
from semblance_lab.origin.scoring.term_table import Ids, OriginComponents
from tests.lab.origin.lines import Lines, SharedParts

DOCUMENTS = (
    "the cat sat on the mat . a dog ran into the yard . the cat ran away . the dog barked at the cat . night fell .",
    "stocks fell on monday . the market was calm on tuesday . traders sold . prices rose on friday . it got late .",
    "a man plays a guitar . the crowd sings along . a woman plays the drums . the song ends . people clap hands .",
    "the cat sat on a chair . the dog slept in the sun . a bird sang in the tree . the sun went down . it was cold .",
    "the man ate lunch in the park . he read a book . a dog came near . he gave the dog some bread . they played .",
    "prices fell on thursday . stocks rose on friday . the bank lent money . the market was late . a trader ate .",
    "the woman sings a song . the man plays the piano . people dance in the hall . the music ends . night fell again .",
    "a dog sat in the yard . a cat slept on the mat . the yard was cold . the sun rose . a bird ran from the cat .",
)
TEXTS = (
    "a dog sat on the mat",
    "stocks rose on monday",
    "a man plays the drums",
    "the cat slept in the park",
    "The Cat  sat on the mat",  # a sentence of the corpus, except for case and white space
    "quantum flux capacitor",  # shares nothing
)
MAX_TOKENS = 7


class CountedWords:
    """One token per word; 0 for words that are not in the corpus."""

    def __init__(self, corpus: Lines) -> None:
        words = dict.fromkeys(word for sentence in corpus.lines for word in sentence.split())
        self._ids = {word: i for i, word in enumerate(words, 1)}
        self._sentences = corpus.lines

    def encode(self, texts: Sequence[str], max_tokens: int) -> list[Ids]:
        return [np.array([self._ids.get(w, 0) for w in t.lower().split()][:max_tokens], np.int32) for t in texts]

    def rows(self, numbers: Integers) -> list[Ids]:
        return self.encode([self._sentences[i] for i in numbers], MAX_TOKENS)


class CountedRanking:
    """Eq. 1 as a logistic function of the words that a sentence shares with either side."""

    def __init__(self, corpus: Lines, words: CountedWords) -> None:
        self._contexts, self._words, self._sentences = corpus.contexts(), words, len(corpus.lines)
        self.calls = 0

    def log_probability(self, center: Ids, left: Ids, right: Ids) -> float:
        shared = len({*center.tolist()} & {*left.tolist()}) + 0.5 * len({*center.tolist()} & {*right.tolist()})
        return -math.log1p(math.exp(1.0 - shared + 0.1 * abs(len(left) - len(right))))

    def log_probabilities(self, rows: Sequence[Ids]) -> Floats:
        self.calls += len(rows)
        left, right = self._words.rows(self._contexts - 1), self._words.rows(self._contexts + 1)
        found = [[self.log_probability(row, *sides) for sides in zip(left, right, strict=True)] for row in rows]
        return np.array(found, np.float32)

    def nearest(self, rows: Sequence[Ids], limit: int) -> Integers:
        """Rank by length."""
        lengths = np.array([len(row) for row in self._words.rows(np.arange(self._sentences))])
        return np.stack([np.argsort(abs(lengths - len(row)), kind="stable")[:limit] for row in rows])


class CountedGeneration:
    """p(word | previous word, others): a mixture of bigrams, the others' words and uniform."""

    def __init__(self, corpus: Lines, words: CountedWords) -> None:
        rows = [[-1, *row.tolist(), -2] for row in words.encode(corpus.lines, 10**6)]
        self._pairs = Counter(pair for row in rows for pair in pairwise(row))
        self._firsts = Counter(word for row in rows for word in row[:-1])
        self._words = len({word for row in rows for word in row}) + 1
        self.calls = 0

    def log_likelihood(self, written: Ids, others: Sequence[Ids]) -> float:
        other_words = Counter(word for row in others for word in row.tolist())
        row = [-1, *written.tolist(), -2]
        logs = [
            math.log(
                0.5 * self._pairs[before, word] / max(1, self._firsts[before])
                + 0.3 * other_words[word] / max(1, other_words.total())
                + 0.2 / self._words
            )
            for before, word in pairwise(row)
        ]
        return sum(logs) / len(logs)

    def log_likelihoods(
        self, part: ContextPart, left: Sequence[Ids], center: Sequence[Ids], right: Sequence[Ids]
    ) -> Floats:
        self.calls += len(center)
        order = {"left": (0, 1, 2), "centre": (1, 0, 2), "right": (2, 0, 1)}[part]
        rows = [tuple(three[i] for i in order) for three in zip(left, center, right, strict=True)]
        return np.array([self.log_likelihood(row[0], row[1:]) for row in rows], np.float32)


class Counted:
    """An Origin and its components, by default with equal weights of all terms."""

    def __init__(self, documents: Sequence[str] = DOCUMENTS, **contexts: object) -> None:
        chosen: dict[str, object] = {"chunks": 12, "size": 5, "candidates": 3, "weights": (1, 1, 1, 1), **contexts}
        self.contexts = ContextSettings.model_validate(chosen)
        self.corpus = Lines([[each.strip() for each in text.split(".") if each.strip()] for text in documents], 3)
        self.words = CountedWords(self.corpus)
        self.screening = SharedParts(self.corpus, _bigrams)
        self.ranking = CountedRanking(self.corpus, self.words)
        self.generation = CountedGeneration(self.corpus, self.words)
        components = OriginComponents(
            self.corpus, self.words, self.words, self.screening, self.ranking, self.generation
        )
        self.origin = Origin(components, self.contexts, MAX_TOKENS)

    def terms(self, text: str, context: int) -> list[float]:
        """Compute the four terms by their definition."""
        [s] = self.words.encode([text], MAX_TOKENS)
        left, right = self.words.rows(np.array([context - 1, context + 1]))
        written = [(s, (left, right)), (left, (s, right)), (right, (left, s))]
        return [
            self.ranking.log_probability(s, left, right),
            *(self.generation.log_likelihood(one, others) for one, others in written),
        ]


def _bigrams(sentence: str) -> list[tuple[str, str]]:
    return list(pairwise(sentence.lower().split()))
