"""Words of a text, each with one vector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, compress, pairwise
from typing import Self

import numpy as np

from semblance.models.embeddings import Floats, Integers, TokenEmbeddings
from semblance.models.explanation import tokens_of
from semblance.models.files.word_lists import lines_of
from semblance.models.paraphrases.negations import negations
from semblance.models.paraphrases.numbers import Number
from semblance.models.paraphrases.quantities import quantities
from semblance.models.text import Booleans, Units
from semblance.models.tokenization.function_words import likeliest_and_content, likeliest_language
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
        return cls.of_all([embeddings], languages)[0]

    @classmethod
    def of_all(cls, texts: Sequence[TokenEmbeddings], languages: Sequence[str] = ENGLISH) -> list[Self]:
        """Words of texts, each as by `of`: their vectors are summed at once, in less time.

        Raises:
            ValueError: as `of`.
        """
        if not texts:
            return []
        tokens = [tokens_of(each) for each in texts]
        units, starts = zip(*(each.units().by_word() for each in tokens), strict=True)
        rows = [np.flatnonzero(~each.special) for each in tokens]
        firsts = _firsts(map(len, tokens))
        sums = _sums(
            np.concatenate([each.token_vectors() for each in texts]),
            np.concatenate([row + first for row, first in zip(rows, firsts, strict=False)]),
            np.concatenate([start + first for start, first in zip(starts, _firsts(map(len, rows)), strict=False)]),
        )
        places = pairwise(_firsts(map(len, units)))
        vectors = _unit(sums)
        return [cls._of(own, vectors[slice(*place)], languages) for own, place in zip(units, places, strict=True)]

    @classmethod
    def with_sums(cls, units: Units, sums: Floats, languages: Sequence[str] = ENGLISH) -> TextWords:
        """Words with (n, d) sums of the vectors of their tokens.

        Args:
            units: all n words of the text, punctuation included.
            sums: of each of them.
            languages: as in `of`.
        """
        return cls._of(units, _unit(sums), languages)

    @classmethod
    def _of(cls, units: Units, vectors: Floats, languages: Sequence[str]) -> Self:
        words = units.texts
        folded = [word.casefold() for word in words]
        language, content = likeliest_and_content(folded, languages)
        found = quantities(units.text, language)
        real = np.array([word.isalnum() or any(map(str.isalnum, word)) for word in words], np.bool_)
        return cls(
            units=units.at(np.flatnonzero(real)),
            vectors=vectors[real],
            stems=[*compress(_stems(folded, language), real.tolist())],
            content=np.array(content, np.bool_)[real],
            negations=np.array(negations(folded, language), np.bool_)[real],
            numeric=_numeric(units, found)[real],
            numbers=found,
            language=language,
        )

    def __len__(self) -> int:
        return len(self.units)


def words_of_pairs(
    pairs: Sequence[tuple[TokenEmbeddings, TokenEmbeddings]], languages: Sequence[str] = ENGLISH
) -> list[tuple[TextWords, TextWords]]:
    """The words of two texts each, in the likeliest language of both together if theirs differ.

    Raises:
        ValueError: as `TextWords.of`.
    """
    words = TextWords.of_all([text for pair in pairs for text in pair], languages)
    read = zip(pairs, words[::2], words[1::2], strict=True)
    return [_in_one_language(pair, left, right, languages) for pair, left, right in read]


def _in_one_language(
    pair: tuple[TokenEmbeddings, TokenEmbeddings], left: TextWords, right: TextWords, languages: Sequence[str]
) -> tuple[TextWords, TextWords]:
    if left.language == right.language:
        return left, right
    both = likeliest_language([*left.units.texts, *right.units.texts], languages)
    if both is None or both not in languages:
        return left, right
    return TextWords.of(pair[0], (both,)), TextWords.of(pair[1], (both,))


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


def _firsts(counts: Iterable[int]) -> list[int]:
    """Places of the first ones of parts of these lengths, and the end."""
    return [0, *accumulate(counts)]


def _sums(vectors: Floats, rows: Integers, starts: Integers) -> Floats:
    """(n, d) float32 sums of some rows for each word.

    `np.add.reduceat` takes ten times as long where rows are that long.
    """
    sums = vectors[rows[starts]].astype(np.float32, copy=False)
    counts = np.diff(starts, append=len(rows))
    for more in range(1, counts.max(initial=1)):
        longer = np.flatnonzero(counts > more)
        sums[longer] += vectors[rows[starts[longer] + more]]
    return sums


def _unit(vectors: Floats) -> Floats:
    lengths = np.sqrt(np.vecdot(vectors, vectors))
    lengths[lengths == 0] = 1.0
    unit: Floats = vectors / lengths[:, None]
    return unit
