"""Words of a text, each with one vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from semblance.models.embeddings import Floats, TokenEmbeddings
from semblance.models.explanation import tokens_of
from semblance.models.files.word_lists import lines_of
from semblance.models.paraphrases.negations import negations
from semblance.models.paraphrases.numbers import Number
from semblance.models.paraphrases.quantities import quantities
from semblance.models.text import Booleans, Units
from semblance.models.tokenization.function_words import likeliest_language, say_much
from semblance.models.tokenization.terms import has_stems, stems_of

ENGLISH = ("en",)


@dataclass(frozen=True, slots=True, eq=False)
class TextWords:
    """The n words of a text that are not punctuation.

    Attributes:
        units: their places in the text.
        vectors: (n, d) float32, the mean of the vectors of each word's tokens, at length 1.
        stems: of the words, irregular English forms included; equal ones are taken for the same word.
        content: (n,) whether each says much by itself.
        negations: (n,) whether each denies.
        numeric: (n,) whether each is a part of a number or of its unit.
        numbers: of the text, with their units.
        language: of the text.
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
    def of(cls, embeddings: TokenEmbeddings, languages: Sequence[str] = ENGLISH) -> TextWords:
        """The words of a text.

        Args:
            embeddings: of the text.
            languages: it is taken to be in one of these if it may be.

        Raises:
            ValueError: the embeddings have no text, or no token vectors.
        """
        tokens = tokens_of(embeddings)
        units, starts = tokens.units().by_word()
        vectors = embeddings.token_vectors()[~tokens.special].astype(np.float32)
        return cls.with_sums(units, np.add.reduceat(vectors, starts, axis=0), languages)

    @classmethod
    def with_sums(cls, units: Units, sums: Floats, languages: Sequence[str] = ENGLISH) -> TextWords:
        """Words with (n, d) sums of the vectors of their tokens.

        Args:
            units: all n words of the text, punctuation included.
            sums: of each of them.
            languages: as in `of`.
        """
        words = units.texts
        language = likeliest_language(words, languages)
        found = quantities(units.text, language)
        real = np.array([word.isalnum() or any(map(str.isalnum, word)) for word in words], np.bool_)
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


def words_of_pair(
    a: TokenEmbeddings, b: TokenEmbeddings, languages: Sequence[str] = ENGLISH
) -> tuple[TextWords, TextWords]:
    """The words of two texts, in the likeliest language of both together if theirs differ.

    Raises:
        ValueError: as `TextWords.of`.
    """
    left, right = TextWords.of(a, languages), TextWords.of(b, languages)
    if left.language == right.language:
        return left, right
    both = likeliest_language([*left.units.texts, *right.units.texts], languages)
    if both is None or both not in languages:
        return left, right
    return TextWords.of(a, (both,)), TextWords.of(b, (both,))


def _stems(words: Sequence[str], language: str | None) -> Sequence[str]:
    if language is None or not has_stems(language):
        return words
    regular = [_regular_forms().get(word, word) for word in words] if language == "en" else words
    return stems_of(regular, language)


@cache
def _regular_forms() -> Mapping[str, str]:
    """Irregular English forms, such as came, and the words that they are forms of."""
    lines = lines_of("semblance.models.paraphrases", "irregular_forms.txt")
    return {form: word for word, *forms in lines for form in forms}


def _numeric(units: Units, found: Sequence[Number]) -> Booleans:
    numeric = np.zeros(len(units), np.bool_)
    for number in found:
        numeric |= (units.spans[:, 0] < number.end) & (units.spans[:, 1] > number.start)
    return numeric


def _unit(vectors: Floats) -> Floats:
    lengths = np.sqrt(np.vecdot(vectors, vectors))[:, None]
    unit: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return unit
