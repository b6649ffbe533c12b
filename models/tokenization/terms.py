"""Split a text into the terms of a lexical search.

A term is a word in the form of `fold`. Words that are joined, as in E-4711, no.12/3 or don't, are a term each, and if
there is a digit, so are they together, whatever dash joins them: then E-4711 is not the same as E 4711. Scripts without
spaces between words, and Korean, which joins particles to them, have characters and pairs of characters as terms. A
pictograph (emoji) is a term in any color of skin and with any variation selector, a flag is one, and a sequence has
those of its parts. Characters that are not seen are not part of a word. The zero-width space ends a word, as in the
word boundaries of Unicode (UAX 29), only where words have no other spaces; elsewhere it is a place to break a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import regex

from semblance.models.tokenization.folding import APOSTROPHES, DASHES, DIGIT_POINT, UNSEEN, fold

_LONG_VOWELS = "ー\uff70"  # of kana; between other letters or digits, Japanese keyboards write a dash with it
_UNSPACED = (
    r"[[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
    rf"{_LONG_VOWELS}\uff9e\uff9f]--\p{{Nd}}]"
)
_MARK = rf"[\p{{M}}{UNSEEN}]"
_JOINER = rf"\-./_@:'{DASHES}{APOSTROPHES}{DIGIT_POINT}{_LONG_VOWELS}．／＿＠：＇"
_COMMON = "a-zA-Z0-9À-ÖØ-öø-ɏЀ-ҁ\u0620-\u064a"  # letters that the next class has, too, found faster
_LETTER = rf"[[\p{{L}}\p{{N}}]--{_UNSPACED}--[{APOSTROPHES}]]"
_WORD = rf"(?:(?:[{_COMMON}]++|{_LETTER})[{_MARK}\u200b]*+)++"
_PICTOGRAPH = (
    r"\p{Regional_Indicator}{2}|[\p{Extended_Pictographic}--[©®™‼⁉]][\U000e0020-\U000e007f]*"  # tags: of flags
)
_CHUNK = regex.compile(
    rf"(?P<joined>{_WORD}(?:[{_JOINER}][{UNSEEN}\u200b]*{_WORD})*)"
    rf"|(?![\x00-\x7f])(?:(?P<unspaced>(?:{_UNSPACED}{_MARK}*)+)"
    rf"|(?P<pictograph>{_PICTOGRAPH})[\p{{Emoji_Modifier}}{UNSEEN}]*)",
    regex.V1,
)
_ASCII_CHUNK = re.compile(r"[a-z0-9]+(?:[-./_@:'][a-z0-9]+)*")
_JOINED_WORD = re.compile(rf"[^{_JOINER}{UNSEEN}\u200b][^{_JOINER}]*")
_CHARACTER = regex.compile(rf"\X{_MARK}*", regex.V1)  # with its vowel signs and accents
_AS_HYPHENS = str.maketrans(dict.fromkeys("ー\uff70", "-"))


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
        if match.lastgroup != "unspaced":
            yield from _spaced(match)
        else:
            characters = _characters(match)
            yield from characters
            yield from _pairs(characters)


def query_terms(text: str) -> list[str]:
    """The terms to search for, each once: pairs of characters where there are any.

    >>> query_terms("the E-4711 and the 東京都")
    ['the', 'e', '4711', 'e-4711', 'and', '東京', '京都']
    """
    terms: dict[str, None] = {}
    for match in _CHUNK.finditer(text):
        if match.lastgroup != "unspaced":
            found = _spaced(match)
        else:
            characters = _characters(match)
            found = _pairs(characters) if len(characters) > 1 else iter(characters)
        terms |= {term.text: None for term in found}
    return list(terms)


def _spaced(match: regex.Match[str]) -> Iterator[Term]:
    if match.lastgroup == "joined":
        return _joined(match[0], match.start())
    return iter([Term(match["pictograph"], match.start(), match.end())])


def _joined(chunk: str, start: int) -> Iterator[Term]:
    """The words of a chunk and, if it has a digit, the chunk."""
    if chunk.isascii() and chunk.isalnum():
        yield Term(fold(chunk), start, start + len(chunk))
        return
    words = list(_terms(_JOINED_WORD.finditer(chunk), start))
    yield from words
    if len(words) > 1 and any(character.isdigit() for character in chunk):
        yield Term(fold(chunk.translate(_AS_HYPHENS)), start, start + len(chunk))


def _characters(match: regex.Match[str]) -> list[Term]:
    return list(_terms(_CHARACTER.finditer(match[0]), match.start()))


def _terms(matches: Iterable[re.Match[str] | regex.Match[str]], start: int) -> Iterator[Term]:
    """The terms of parts of a chunk; of some characters, nothing remains."""
    terms = (Term(fold(match[0]), start + match.start(), start + match.end()) for match in matches)
    return (term for term in terms if term.text)


def _pairs(characters: Sequence[Term]) -> Iterator[Term]:
    for first, second in pairwise(characters):
        yield Term(first.text + second.text, first.start, second.end)
