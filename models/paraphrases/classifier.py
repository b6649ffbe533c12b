"""Classifier of paraphrases: the log-odds that two texts say the same, word by word."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import safe_open

from semblance.models.embeddings import Doubles, Floats
from semblance.models.errors import BadCheckpoint
from semblance.models.files.tensors import read_tensors
from semblance.models.paraphrases.numbers import Number
from semblance.models.paraphrases.partners import Partners, negation_weight, partners, same_share
from semblance.models.paraphrases.quantities import differing
from semblance.models.paraphrases.words import ENGLISH, TextWords

NUMBER = NEGATION = 8.0  # penalty of a number that the other text lacks, and the largest of a negation

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
        before, after = partners(a, b)
        left, right = self._penalties(a, b, before), self._penalties(b, a, after)
        missing = differing(a.numbers, b.numbers)
        negation = NEGATION * negation_weight(a, b, before, after)
        squares = sum(float((both.sum(axis=0) ** 2).sum()) for both in (left, right))
        length = float(np.sqrt(squares + NUMBER**2 * sum(map(len, missing)) + negation**2))
        text = -float(self.tensors["text"]) * (1 - _mean_cosine(a, b))
        base = float(self.tensors["base"])
        return Classified(
            log_odds=base - length + text,
            base=base,
            left=_losses(a, before, left, missing[0], length),
            right=_losses(b, after, right, missing[1], length),
            negation=-(negation**2) / (length or 1.0),
            text=text,
        )

    def _penalties(self, own: TextWords, other: TextWords, found: Partners) -> Doubles:
        """(2, n) penalties of wording and of order; words that are numbers or negations have none."""
        tensors = self.tensors
        word = np.maximum(own.vectors @ tensors["word.weight"].T + tensors["word.bias"], 0)
        replaced = (~found.same & (found.rows >= 0))[:, None]
        u, v = (side @ tensors["pair.weight"].T for side in (other.vectors[found.rows], own.vectors))
        given = np.stack([found.same, own.content, replaced[:, 0]], axis=1)
        x = np.concatenate([word, given, u * v * replaced, np.abs(u - v) * replaced], axis=1, dtype=np.float32)
        hidden = np.maximum(x @ tensors["hidden.weight"].T + tensors["hidden.bias"], 0)
        factor = _softplus(3 * (hidden @ tensors["out.weight"] + tensors["out.bias"]))
        mix = tensors["mix"]
        link = np.where(found.same, found.links, mix * found.links + (1 - mix) * found.nearest)
        by_word = word @ tensors["crossed.weight"][:-1] + tensors["crossed.weight"][-1] * same_share(own, found)
        crossed = _softplus(by_word + tensors["crossed.bias"]) * found.crossed
        penalties = np.stack([factor * np.maximum(0, 1 - link - tensors["margin"]), crossed]).astype(np.float64)
        return penalties * ~(own.numeric | own.negations)


def _losses(
    words: TextWords, found: Partners, penalties: Doubles, missing: Sequence[Number], length: float
) -> TextLosses:
    """Share the length of the vector of penalties among them, by their squares."""
    wording, order = -penalties * penalties.sum(axis=0) / (length or 1.0)
    numbers = np.full(len(missing), -(NUMBER**2) / (length or 1.0))
    return TextLosses(words, found, wording, order, missing, numbers)


def _mean_cosine(a: TextWords, b: TextWords) -> float:
    left, right = a.vectors.sum(axis=0, dtype=np.float64), b.vectors.sum(axis=0, dtype=np.float64)
    lengths = np.linalg.norm(left) * np.linalg.norm(right)
    return float(min(1.0, left @ right / lengths)) if lengths else 0.0


def _softplus(x: Floats) -> Floats:
    return np.logaddexp(0, x)
