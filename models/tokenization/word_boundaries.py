"""Words of a text in any script, and the word of each piece that a tokenizer makes of it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from unicodedata import category

from icu4py.breakers import WordBreaker

_LOCALE = "root"  # boundaries of all languages alike; dictionaries are chosen by script
_ASCII = re.compile(r"[0-9A-Za-z]+|[^0-9A-Za-z\s]")
_LAST_UNIT = "\uffff"  # the last character that is one unit of UTF-16


def segments(text: str) -> list[tuple[int, int]]:
    """Find the segments between Unicode's word boundaries, white space included.

    Scripts without spaces between words, such as Chinese, Japanese and Thai, are cut by ICU's dictionaries.

    Args:
        text: without lone surrogates.

    Returns:
        First and one-past-last character of each, in code points.

    Source: unicode-uax29, section 4.

    >>> text = "can't: 学生です"
    >>> [text[start:end] for start, end in segments(text)]
    ["can't", ':', ' ', '学生', 'です']
    """
    found = list(WordBreaker(text, _LOCALE).segments())
    if max(text, default="") <= _LAST_UNIT:
        return found
    places = [0] * (found[-1][1] + 1)
    for place, unit in enumerate(accumulate((1 + (character > _LAST_UNIT) for character in text), initial=0)):
        places[unit] = place
    return [(places[start], places[end]) for start, end in found]


def words(text: str) -> list[tuple[int, int]]:
    """Find the words of a text, each sign of punctuation apart.

    >>> text = "Don't pay 3.5 🙂🙂!"
    >>> [text[start:end] for start, end in words(text)]
    ['Don', "'", 't', 'pay', '3', '.', '5', '🙂', '🙂', '!']
    """
    if text.isascii():
        return [match.span() for match in _ASCII.finditer(text)]
    return [part for start, end in segments(text) for part in _parts(text, start, end)]


def _parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Parts of a segment, which may join words by punctuation and narrow spaces."""
    segment = text[start:end]
    if end - start == 1 or segment.isalnum():
        if not segment.isspace():
            yield start, end
        return
    begin = start
    for place, character in enumerate(segment, start):
        if character.isspace() or category(character)[0] == "P":
            if begin < place:
                yield begin, place
            if not character.isspace():
                yield place, place + 1
            begin = place + 1
    if begin < end:
        yield begin, end


def number_words(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Find the word of each piece of a text.

    A piece belongs to the word of which it covers most characters, the first of several; a piece of white space alone
    to the next word, or after the last one to that.

    Args:
        text: with a visible character.
        spans: first and one-past-last character of the pieces, in reading order.

    Returns:
        Of each piece, first and one-past-last character without white space, and the number of its word. Numbers ascend
        from 0, and none is left out.

    >>> number_words("a 学生です", [(0, 1), (1, 3), (3, 4), (4, 6)])
    [(0, 1, 0), (2, 3, 1), (3, 4, 1), (4, 6, 2)]
    """
    bounds = words(text)
    last = len(bounds) - 1
    found: list[tuple[int, int, int]] = []
    at, known, number = 0, -1, -1
    for given in spans:
        start, end = _stripped(text, *given)
        while at < last and bounds[at][1] <= start:
            at += 1
        word = at if end <= bounds[at][1] else _most_covered(bounds, at, start, end)
        if word > known:
            known, number = word, number + 1
        if start == end:
            start = end = min(max(start, bounds[known][0]), bounds[known][1])
        found.append((start, end, number))
    return found


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without white space at either end; of white space alone, its end."""
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _most_covered(bounds: Sequence[tuple[int, int]], first: int, start: int, end: int) -> int:
    """The word of which a span covers most characters, from the first one that it may cover."""
    after = bisect_left(bounds, (end,), first)
    return max(
        range(first, max(after, first + 1)), key=lambda word: min(bounds[word][1], end) - max(bounds[word][0], start)
    )
