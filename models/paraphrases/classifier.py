"""Classifier of paraphrases: the log-odds that two texts say the same, word by word."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors import safe_open

from semblance.models.embeddings import Doubles, Floats
from semblance.models.errors import BadCheckpoint
from semblance.models.files.tensors import read_tensors
from semblance.models.paraphrases.numbers import Number
from semblance.models.paraphrases.partners import Partners, Rows, negation_weight, partners, same_share
from semblance.models.paraphrases.quantities import differing
from semblance.models.paraphrases.words import ENGLISH, TextWords

NUMBER = NEGATION = 8.0  # penalty of a number that the other text lacks, and the largest of a negation
TILE = 16  # rows of a matrix product

_NAMES = frozenset({
    "base", "text", "margin", "mix", "word.weight", "word.bias", "pair.weight", "hidden.weight", "hidden.bias",
    "out.weight", "out.bias", "crossed.weight", "crossed.bias",
})  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class TextLosses:
    """Losses of log-odds by the n words and the numbers of a text, all 0 or less.

    Attributes:
        words: the words of the text.
        partners: their partners in the other text.
        wording: (n,) of each word: how far its partner is from it.
        order: (n,) of each word: the words that stand on another side of it.
        missing: the numbers that the other text lacks.
        numbers: of each of these.
    """

    words: TextWords
    partners: Partners
    wording: Doubles
    order: Doubles
    missing: Sequence[Number]
    numbers: Doubles

    @property
    def total(self) -> float:
        """The sum of all."""
        return float(self.wording.sum() + self.order.sum() + self.numbers.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Classified:
    """The log-odds that two texts say the same, and their parts.

    Law: base + left.total + right.total + negation + text = log_odds.

    Attributes:
        log_odds: natural logarithm of the odds.
        base: of two equal texts.
        left, right: the losses by the words and numbers of each text.
        negation: the loss if one text has an odd number of negations, and the other has not.
        text: the loss by the distance of the means of all word vectors.
    """

    log_odds: float
    base: float
    left: TextLosses
    right: TextLosses
    negation: float
    text: float


@dataclass(frozen=True, slots=True, eq=False)
class ParaphraseClassifier:
    """Log-odds that are a constant minus the length of a vector of penalties.

    Each word and number has a penalty. With the penalties x of both texts, N = sqrt(sum x^2) is taken from the
    log-odds, x^2 / N for each, so that one word that certainly differs weighs more than many that might. The penalty of
    a word v grows with its distance from its partner u: softplus(3 f(u, v)) max(0, 1 - r - margin), where r is their
    cosine, or for words without a partner of their stem a mean of it and of the largest cosine; f is a network of two
    layers on projections of v, and of the products and differences of both. A word that changes sides with other words
    adds a penalty of its own, which grows with the share of the words of its text that the other text has, too.

    Attributes:
        tensors: weights by name, as float32; d is the dimension of the word vectors.
        languages: of texts that it classifies, by their codes.
    """

    tensors: Mapping[str, Floats]
    languages: Sequence[str] = ENGLISH

    @classmethod
    def read(cls, file: Path) -> ParaphraseClassifier:
        """Read a classifier from a safetensors file, whose metadata names its languages.

        Raises:
            BadCheckpoint: the file cannot be read, is damaged, or holds other tensors.
        """
        tensors = read_tensors(file)
        if tensors.keys() != _NAMES:
            different = ", ".join(sorted(tensors.keys() ^ _NAMES))
            raise BadCheckpoint(
                f"{file} holds no paraphrase classifier: these tensors are missing or unknown: {different}"
            )
        with safe_open(file, framework="np") as opened:
            return cls(tensors, opened.metadata()["languages"].split())

    @property
    def digest(self) -> str:
        """SHA-256 of the weights."""
        digest = hashlib.sha256()
        for name in sorted(self.tensors):
            digest.update(name.encode() + np.ascontiguousarray(self.tensors[name]).tobytes())
        return digest.hexdigest()

    def classify(self, a: TextWords, b: TextWords) -> Classified:
        """The log-odds of two texts of n >= 1 and m >= 1 words."""
        return self.classify_all([(a, b)])[0]

    def classify_all(self, pairs: Sequence[tuple[TextWords, TextWords]]) -> list[Classified]:
        """Log-odds of pairs, each as by `classify`: the network reads all words at once."""
        if not pairs:
            return []
        texts = [text for pair in pairs for text in pair]
        found = [partners(*pair) for pair in pairs]
        missing = [differing(a.numbers, b.numbers) for a, b in pairs]
        negations = NEGATION * np.array(
            [negation_weight(*pair, *both) for pair, both in zip(pairs, found, strict=True)]
        )
        places = _Places.of(texts)
        penalties = self._penalties(texts, [each for both in found for each in both], places)
        of_words = penalties.sum(axis=0)
        squares = np.add.reduceat(of_words**2, places.starts).reshape(-1, 2).sum(axis=1)
        numbers = np.array([sum(map(len, both)) for both in missing])
        lengths = np.sqrt(squares + NUMBER**2 * numbers + negations**2)
        shares = lengths + (lengths == 0)
        losses = -penalties * of_words / np.repeat(shares, 2)[places.texts]

        def side(pair: int, which: int) -> TextLosses:
            """Share the length of the vector of penalties among them, by their squares."""
            wording, order = losses[:, places.of_text(2 * pair + which)]
            own = missing[pair][which]
            numbers = np.full(len(own), -(NUMBER**2) / shares[pair])
            return TextLosses(pairs[pair][which], found[pair][which], wording, order, own, numbers)

        base = float(self.tensors["base"])
        text = -float(self.tensors["text"]) * (1 - _mean_cosines(texts))
        return [
            Classified(
                log_odds=float(base - lengths[i] + text[i]),
                base=base,
                left=side(i, 0),
                right=side(i, 1),
                negation=float(-(negations[i] ** 2) / shares[i]),
                text=float(text[i]),
            )
            for i in range(len(pairs))
        ]

    def _penalties(self, texts: Sequence[TextWords], partners: Sequence[Partners], places: _Places) -> Doubles:
        """(2, n) penalties of wording and of order; words that are numbers or negations have none."""
        tensors, found = self.tensors, Partners.join(partners)
        vectors = np.concatenate([text.vectors for text in texts])
        word = np.maximum(_product(vectors, tensors["word.weight"]) + tensors["word.bias"], 0)
        replaced = (~found.same & (found.rows >= 0))[:, None]
        v = _product(vectors, tensors["pair.weight"])
        u = v[found.rows + places.other_starts]
        content = np.concatenate([text.content for text in texts])
        given = np.stack([found.same, content, replaced[:, 0]], axis=1)
        x = np.concatenate([word, given, u * v * replaced, np.abs(u - v) * replaced], axis=1, dtype=np.float32)
        hidden = np.maximum(_product(x, tensors["hidden.weight"]) + tensors["hidden.bias"], 0)
        factor = _softplus(3 * (np.vecdot(hidden, tensors["out.weight"]) + tensors["out.bias"]))
        mix = tensors["mix"]
        link = np.where(found.same, found.links, mix * found.links + (1 - mix) * found.nearest)
        shared = np.array([same_share(*each) for each in zip(texts, partners, strict=True)], np.float32)[places.texts]
        by_word = np.vecdot(word, tensors["crossed.weight"][:-1]) + tensors["crossed.weight"][-1] * shared
        crossed = _softplus(by_word + tensors["crossed.bias"]) * found.crossed
        wording = factor * np.maximum(0, 1 - link - tensors["margin"])
        penalties: Doubles = np.stack([wording, crossed]).astype(np.float64)
        penalties *= np.concatenate([~(text.numeric | text.negations) for text in texts])
        return penalties


class _Places(NamedTuple):
    """Places of the n words of texts that follow one another, the two of a pair side by side.

    Attributes:
        starts: first word of each text.
        texts: (n,) the text of each word.
        other_starts: (n,) the first word of the other text of the pair.
    """

    starts: Rows
    texts: Rows
    other_starts: Rows

    @classmethod
    def of(cls, texts: Sequence[TextWords]) -> _Places:
        counts = np.array([len(text) for text in texts])
        starts = np.cumsum(counts) - counts
        of_words = np.repeat(np.arange(len(texts)), counts)
        return cls(starts, of_words, starts[of_words ^ 1])

    def of_text(self, text: int) -> slice:
        """The words of a text."""
        return slice(self.starts[text], self.starts[text + 1] if text + 1 < len(self.starts) else None)


def _mean_cosines(texts: Sequence[TextWords]) -> Doubles:
    """The cosine of the sums of the vectors of both texts of each pair."""
    sums = np.stack([text.vectors.sum(axis=0) for text in texts]).astype(np.float64)
    left, right = sums[::2], sums[1::2]
    lengths = np.sqrt(np.vecdot(left, left) * np.vecdot(right, right))
    cosines: Doubles = np.minimum(1.0, np.vecdot(left, right) / (lengths + (lengths == 0)))
    return cosines


def _product(rows: Floats, weights: Floats) -> Floats:
    """(n, o) product of (n, i) rows and (o, i) weights; other rows change no bit of a row.

    BLAS rounds in another order where a matrix has another shape, so all have one.
    """
    tiles = np.zeros((-(-len(rows) // TILE), TILE, rows.shape[1]), np.float32)
    tiles.reshape(-1, rows.shape[1])[: len(rows)] = rows
    product: Floats = (tiles @ weights.T).reshape(-1, len(weights))[: len(rows)]
    return product


def _softplus(x: Floats) -> Floats:
    return np.logaddexp(0, x)
