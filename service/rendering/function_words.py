"""Words that say little by themselves, in the languages of `function_words.txt`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import regex

_LEAST = 2  # function words of Latin letters that tell a language, but for the first one, English
_LATIN = regex.compile(r"\p{Latin}")


def say_much(words: Sequence[str]) -> list[bool]:
    """Whether each word has a letter or digit, and is not a function word of its language.

    The language is that of the text.

    >>> say_much(["The", "parcel", "is", "not", "here", "."])
    [False, True, False, True, True, False]
    >>> say_much(["Die", "Maschine", "war", "kaputt"]), say_much(["to", "die", "in", "the", "war"])
    ([False, True, False, True], [False, True, False, False, True])
    """
    folded = [word.casefold() for word in words]
    known = _function_words(folded)
    return [any(character.isalnum() for character in word) and word not in known for word in folded]


def _function_words(words: Sequence[str]) -> frozenset[str]:
    """Those of the language of which most occur in a text; of several, the first one."""
    counts = {language: sum(word in known for word in words) for language, known in _lists().items()}
    best = max(counts, key=lambda language: counts[language])
    is_told = counts[best] >= _LEAST or best == next(iter(counts)) or not _LATIN.search("".join(_lists()[best]))
    return _lists()[best] if is_told else frozenset()


@cache
def _lists() -> Mapping[str, frozenset[str]]:
    """The function words of each language."""
    text = (files("semblance.service.rendering") / "function_words.txt").read_text("utf-8")
    paragraphs = (paragraph.split(maxsplit=1) for paragraph in text.split("\n\n")[1:])
    return {code.rstrip(":"): frozenset(words.split()) for code, words in paragraphs}
