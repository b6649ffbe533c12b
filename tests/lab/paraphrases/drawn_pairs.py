"""Pairs of texts with random word vectors, whose labels can be told from their words."""

from __future__ import annotations

import numpy as np

from semblance.models.paraphrases.words import TextWords
from semblance_lab.paraphrases.clues import ClueTable
from semblance_lab.paraphrases.pairs import CONTRAST, GENERATED, Pair
from tests.support.no_progress import no_progress
from tests.support.word_texts import words

DIM = 12
NOUNS = ("fox", "crow", "pond", "hill", "moss", "fern", "clay", "reed")


def drawn_pairs(count: int, seed: int = 0) -> list[Pair]:
    """Pairs of two or three words: half of them in another order, the others with another word or a negation."""
    draws = np.random.default_rng(seed)
    pairs = []
    for i in range(count):
        one, two, three = draws.permutation(NOUNS)[:3].tolist()
        a = f"the {one} saw 2 {two}"
        b = (f"the {one} saw 2 {two} today", f"the {one} saw 2 {three}", f"the {one} not saw 2 {two}")[i % 3]
        source, kind = ((GENERATED, "filler"), (CONTRAST, "nouns"), ("snli", "neutral"))[i % 3]
        pairs.append(Pair(source, kind, a, b, holds=i % 3 == 0, entails=i % 3 == 2))
    return pairs


def words_of(text: str) -> TextWords:
    """TextWords of a text with a vector that depends on the word alone."""
    vectors = [np.random.default_rng([*word.encode()]).normal(size=DIM).tolist() for word in text.split()]
    return TextWords.of(words(text, vectors))


def clues_of(pairs: list[Pair]) -> ClueTable:
    """Clues of pairs."""
    return ClueTable.of(pairs, {text: words_of(text) for pair in pairs for text in (pair.a, pair.b)}, no_progress)
