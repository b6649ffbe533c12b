"""Split a text into the terms of a lexical search.

A term is a word, folded: in lower case, without accents. Words that are joined, as in E-4711, no.12/3 or don't, are a
term each, and if there is a digit, so are they together: then E-4711 is not the same as E 4711. Scripts without spaces
between words, and Korean, which joins particles to them, have characters and pairs of characters as terms.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import regex

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー"
_WORD = rf"(?:[[\p{{L}}\p{{N}}]--[{_UNSPACED}]]\p{{M}}*)+"
_CHUNK = regex.compile(rf"(?P<joined>{_WORD}(?:[-./_@:'’]{_WORD})*)|(?:[{_UNSPACED}]\p{{M}}*)+", regex.V1)
_ASCII_CHUNK = re.compile(r"[a-z0-9]+(?:[-./_@:'][a-z0-9]+)*")
_JOINED_WORD = re.compile(r"[^-./_@:'’]+")
_CHARACTER = regex.compile(r"\X")  # with its vowel signs and accents
_ACCENT = re.compile("[\u0300-\u036f]")


class Term(NamedTuple):
    """A term, and its span of code points in the text."""

    text: str
    start: int
    end: int


def document_terms(text: str) -> Iterator[Term]:
    """All terms of a text.

    >>> [term.text for term in document_terms("Élan E-4711, 東京")]
    ['elan', 'e', '4711', 'e-4711', '東', '京', '東京']
    """
    if text.isascii():
        for match in _ASCII_CHUNK.finditer(text.lower()):
            yield from _joined(match[0], match.start())
        return
    for match in _CHUNK.finditer(text):
        if match["joined"] is not None:
            yield from _joined(match[0], match.start())
        else:
            yield from _characters(match[0], match.start())
            yield from _pairs(match[0], match.start())


def query_terms(text: str) -> list[str]:
    """The terms to search for, each once: pairs of characters where there are any.

    >>> query_terms("the E-4711 and the 東京都")
    ['the', 'e', '4711', 'e-4711', 'and', '東京', '京都']
    """
    terms: dict[str, None] = {}
    for match in _CHUNK.finditer(text):
        if match["joined"] is not None:
            found = _joined(match[0], 0)
        else:
            found = iter([*_pairs(match[0], 0)] or [*_characters(match[0], 0)])
        terms |= {term.text: None for term in found}
    return list(terms)


def _joined(chunk: str, start: int) -> Iterator[Term]:
    """The words of a chunk and, if it has a digit, the chunk."""
    if chunk.isalnum():
        yield Term(_folded(chunk), start, start + len(chunk))
        return
    words = [
        Term(_folded(match[0]), start + match.start(), start + match.end()) for match in _JOINED_WORD.finditer(chunk)
    ]
    yield from words
    if len(words) > 1 and any(character.isdigit() for character in chunk):
        yield Term(_folded(chunk.replace("’", "'")), start, start + len(chunk))


def _characters(run: str, start: int) -> Iterator[Term]:
    return (Term(_folded(match[0]), start + match.start(), start + match.end()) for match in _CHARACTER.finditer(run))


def _pairs(run: str, start: int) -> Iterator[Term]:
    characters = list(_characters(run, start))
    for first, second in pairwise(characters):
        yield Term(first.text + second.text, first.start, second.end)


def _folded(word: str) -> str:
    """The word in lower case, without accents, in the compatible form of its characters."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return unicodedata.normalize("NFC", _ACCENT.sub("", decomposed)).casefold()
