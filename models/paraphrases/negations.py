"""Words that deny a sentence or a part of it, in the languages of `negations.txt`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from semblance.models.files.word_lists import words_by_language

_APOSTROPHES = ("'", "’")


def negations(words: Sequence[str], language: str | None) -> list[bool]:
    """Whether each word denies; punctuation is among the words. "T" does after an apostrophe.

    >>> negations(["it", "isn", "'", "t", "a", "t", "-", "shirt"], "en")
    [False, False, False, True, False, False, False, False]
    """
    known = _lists().get(language or "", frozenset())
    before = ["", *words[:-1]]
    return [
        word.casefold() in known or (word.casefold() == "t" and last in _APOSTROPHES)
        for word, last in zip(words, before, strict=True)
    ]


@cache
def _lists() -> Mapping[str, frozenset[str]]:
    """The negations of each language."""
    return words_by_language("semblance.models.paraphrases", "negations.txt")
