"""Words of a text, each with one vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from semblance.models.embeddings import Floats, TokenEmbeddings
from semblance.models.explanation import tokens_of
from semblance.models.paraphrases.negations import negations
from semblance.models.paraphrases.numbers import Number, numbers
from semblance.models.text import Booleans, Units
from semblance.models.tokenization.function_words import language_of, may_be, say_much
from semblance.models.tokenization.terms import stems_of

LANGUAGE = "en"  # of the texts that classifiers are trained on, and of those that may be in it


@dataclass(frozen=True, slots=True, eq=False)
class TextWords:
    """The n words of a text that are not punctuation.

    Attributes:
        units: their places in the text.
        vectors: (n, d) float32, the mean of the vectors of each word's tokens, at length 1.
        stems: of the words; equal ones are taken for the same word.
        content: (n,) whether each says much by itself.
        negations: (n,) whether each denies.
        numeric: (n,) whether each is a part of a number.
        numbers: of the text.
        language: of the text; English, if it may be that.
    """

    units: Units
    vectors: Floats
    stems: Sequence[str]
    content: Booleans
    negations: Booleans
    numeric: Booleans
    numbers: Sequence[Number]
    language: str | None

    @classmethod
    def of(cls, embeddings: TokenEmbeddings) -> TextWords:
        """The words of a text.

        Raises:
            ValueError: the embeddings have no text, or no token vectors.
        """
        tokens = tokens_of(embeddings)
        units, starts = tokens.units().by_word()
        vectors = embeddings.token_vectors()[~tokens.special].astype(np.float32)
        return cls.with_sums(units, np.add.reduceat(vectors, starts, axis=0))

    @classmethod
    def with_sums(cls, units: Units, sums: Floats) -> TextWords:
        """Words with (n, d) sums of the vectors of their tokens.

        Args:
            units: all n words of the text, punctuation included.
            sums: of each of them.
        """
        words = [unit.text for unit in units]
        language = LANGUAGE if may_be(LANGUAGE, words) else language_of(words)
        found = numbers(units.text, language)
        real = np.array([any(map(str.isalnum, word)) for word in words], np.bool_)
        folded = [word.casefold() for word in words]
        return cls(
            units=units.at(np.flatnonzero(real)),
            vectors=_unit(sums[real]),
            stems=[stem for stem, kept in zip(_stems(folded, language), real, strict=True) if kept],
            content=np.array(say_much(words), np.bool_)[real],
            negations=np.array(negations(words, language), np.bool_)[real],
            numeric=_numeric(units, found)[real],
            numbers=found,
            language=language,
        )

    def __len__(self) -> int:
        return len(self.units)


def _stems(words: Sequence[str], language: str | None) -> Sequence[str]:
    return words if language is None else stems_of(words, language)


def _numeric(units: Units, found: Sequence[Number]) -> Booleans:
    numeric = np.zeros(len(units), np.bool_)
    for number in found:
        numeric |= (units.spans[:, 0] < number.end) & (units.spans[:, 1] > number.start)
    return numeric


def _unit(vectors: Floats) -> Floats:
    lengths = np.sqrt(np.vecdot(vectors, vectors))[:, None]
    unit: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit
