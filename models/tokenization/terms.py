"""Split a text into the terms of a lexical search.

A term is a word, folded: in lower case, without accents and vowel points, and in the compatible form of its characters
(NFKC), so that half-width katakana are katakana. Words that are joined, as in E-4711, no.12/3 or don't, are a term
each, and if there is a digit, so are they together, whatever hyphen joins them: then E-4711 is not the same as E 4711.
Scripts without spaces between words, and Korean, which joins particles to them, have characters and pairs of characters
as terms. Characters that are not seen, such as soft hyphens, are not part of a word; only the zero-width space ends
one, as in the word boundaries of Unicode (UAX 29).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import regex

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー\uff70\uff9e\uff9f"
_UNSEEN = r"\u00ad\u061c\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"  # hyphenation, joining, direction
_MARK = rf"[\p{{M}}{_UNSEEN}]"
_JOINER = r"\-./_@:'’‐‑−－．／＿＠：＇"
_WORD = rf"(?:[[\p{{L}}\p{{N}}]--[{_UNSPACED}]]{_MARK}*)+"
_CHUNK = regex.compile(rf"(?P<joined>{_WORD}(?:[{_JOINER}]{_WORD})*)|(?:[{_UNSPACED}]{_MARK}*)+", regex.V1)
_ASCII_CHUNK = re.compile(r"[a-z0-9]+(?:[-./_@:'][a-z0-9]+)*")
_JOINED_WORD = re.compile(rf"[^{_JOINER}]+")
_CHARACTER = regex.compile(rf"\X{_MARK}*", regex.V1)  # with its vowel signs and accents
_IGNORED = re.compile(  # accents, vowel points of Hebrew and Arabic, elongation, and what is not seen
    r"[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    r"\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
    rf"{_UNSEEN}]"
)
_SAME_JOINERS = str.maketrans("’‐−", "'--")  # NFKC makes the others equal


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
            characters = list(_characters(match[0], match.start()))
            yield from characters
            yield from _pairs(characters)


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
            characters = list(_characters(match[0], 0))
            found = _pairs(characters) if len(characters) > 1 else iter(characters)
        terms |= {term.text: None for term in found}
    return list(terms)


def _joined(chunk: str, start: int) -> Iterator[Term]:
    """The words of a chunk and, if it has a digit, the chunk."""
    if chunk.isascii() and chunk.isalnum():
        yield Term(_folded(chunk), start, start + len(chunk))
        return
    words = list(_terms(_JOINED_WORD.finditer(chunk), start))
    yield from words
    if len(words) > 1 and any(character.isdigit() for character in chunk):
        yield Term(_folded(chunk).translate(_SAME_JOINERS), start, start + len(chunk))


def _characters(run: str, start: int) -> Iterator[Term]:
    return _terms(_CHARACTER.finditer(run), start)


def _terms(matches: Iterable[re.Match[str] | regex.Match[str]], start: int) -> Iterator[Term]:
    """The terms of parts of a chunk; of some characters, nothing remains."""
    terms = (Term(_folded(match[0]), start + match.start(), start + match.end()) for match in matches)
    return (term for term in terms if term.text)


def _pairs(characters: Sequence[Term]) -> Iterator[Term]:
    for first, second in pairwise(characters):
        yield Term(first.text + second.text, first.start, second.end)


def _folded(word: str) -> str:
    """The word in lower case, without accents, in the compatible form of its characters."""
    if word.isascii():
        return word.lower()
    decomposed = _IGNORED.sub("", unicodedata.normalize("NFKD", word.casefold()))
    return unicodedata.normalize("NFC", decomposed).casefold().strip()
