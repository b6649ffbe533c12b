"""Numbers and codes of a text by their values, in digits and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import regex
from text_to_num import find_numbers

Value: TypeAlias = float | str

# Languages whose words for numbers are read.
LANGUAGES = frozenset({"da", "de", "en", "es", "fr", "it", "nl", "pt"})

_PIECES = regex.compile(
    r"""(?<gap>\s+|-) | (?<word>[\p{L}\p{M}]++(?!\w)) | (?<code>(?=\w*\d)(?=\w*\p{L})\w+)
    | (?<date>\b\d{4}-\d\d-\d\d\b) | (?<clock>\b\d{1,2}:\d\d\b(?!:)) | (?<digits>\d+(?:[.,]\d+)*)
    | (?<word>[\p{L}\p{M}]+) | .""",
    regex.DOTALL | regex.VERBOSE,
)
_DIGIT_OR_WORD = regex.compile(r"\d|[\p{L}\p{M}]+")
_KNOWN_WORDS = 1 << 14  # of which it is remembered whether they are numbers
_NOON = 12  # hours up to it may be those after it
_GROUPS = regex.compile(r"\d{1,3}([.,])\d{3}(?:\1\d{3})*")
_DECIMALS = regex.compile(r"(\d{1,3}(?:([.,])\d{3})+)(?!\2)[.,](\d+)")  # after groups: 1,299.00, 1.299,00
_TIMES = {"twice": 2.0, "thrice": 3.0, "zweimal": 2.0, "dreimal": 3.0}  # one word for a number and "times"
_ORDINAL = regex.compile(r"(\d+)(?:st|nd|rd|th|er|ère|ème|º|ª)")


class NumberUnit(NamedTuple):
    """A unit of numbers.

    Attributes:
        measured: what it measures, such as a length.
        factor, offset: factor * value + offset is the amount, which is comparable within what is measured.
    """

    measured: str
    factor: float = 1.0
    offset: float = 0.0


COUNT, RANK, DATE, TIME = NumberUnit("count"), NumberUnit("rank"), NumberUnit("date"), NumberUnit("time")


@dataclass(frozen=True, slots=True)
class Number:
    """A number or code of a text, from the character `start` to before `end`, its unit included.

    Attributes:
        value: as it is written; a code has letters and digits, and its letters are folded. Of the date 3 January, 103;
            of the time 5:30, 5.5.
        unit: of what it counts.
    """

    start: int
    end: int
    value: Value
    unit: NumberUnit = COUNT

    @property
    def key(self) -> tuple[Value, str]:
        """Amount and what is measured, which equal numbers share."""
        if isinstance(self.value, str):
            return self.value, self.unit.measured
        return float(f"{self.unit.factor * self.value + self.unit.offset:.9g}"), self.unit.measured


def numbers(text: str, language: str | None) -> list[Number]:
    """The numbers of a text in reading order, without their units.

    A single word for one is left out: most often it is an article or a pronoun.

    >>> [number.key for number in numbers("Two hundred and five of 1,200 men, one error E42", "en")]
    [(205.0, 'count'), (1200.0, 'count'), ('e42', 'count')]
    >>> [number.key for number in numbers("1.299,00 and 1,299.00, twice", "en")]
    [(1299.0, 'count'), (1299.0, 'count'), (2.0, 'count')]
    """
    if not any(_may_be_number(each, language) for each in _DIGIT_OR_WORD.findall(text)):
        return []  # as of most texts, in a tenth of the time
    pieces = [_NumberPiece(each[0], each.start(), each.end(), each.lastgroup or "") for each in _PIECES.finditer(text)]
    found = [*_in_digits(pieces, language), *_in_words(pieces, language)]
    return sorted(found, key=lambda number: number.start)


class _NumberPiece(NamedTuple):
    """A piece of a text, with the methods that `find_numbers` asks for."""

    string: str
    start: int
    end: int
    kind: str

    def text(self) -> str:
        return self.string

    def nt_separated(self, previous: _NumberPiece) -> bool:
        """Whether more than the text parts it from the piece before."""
        del previous
        return False

    def not_a_number_part(self) -> bool:
        return self.kind not in ("word", "gap")


@lru_cache(_KNOWN_WORDS)
def _may_be_number(piece: str, language: str | None) -> bool:
    """Whether a digit or word is a number by itself, as one word of each longer number is."""
    alone = _NumberPiece(piece, 0, len(piece), "word")
    return (
        piece.isdecimal()
        or piece.lower() in _TIMES
        or (language in LANGUAGES and bool(find_numbers([alone], language, 0.0)))
    )


def _in_digits(pieces: Sequence[_NumberPiece], language: str | None) -> Iterator[Number]:
    for piece in pieces:
        if piece.kind == "code":
            rank = _ORDINAL.fullmatch(piece.string.lower())
            value = float(rank[1]) if rank else piece.string.casefold()
            yield Number(piece.start, piece.end, value, RANK if rank else COUNT)
        elif piece.kind == "date":
            year, month, day = map(int, piece.string.split("-"))
            yield Number(piece.start, piece.start + 4, float(year))
            yield Number(piece.start + 5, piece.end, 100.0 * month + day, DATE)
        elif piece.kind == "clock":
            hours, minutes = map(int, piece.string.split(":"))
            yield Number(piece.start, piece.end, hours + minutes / 60, COUNT if 0 < hours <= _NOON else TIME)
        elif piece.kind == "digits":
            yield Number(piece.start, piece.end, _value(piece.string, language))


def _in_words(pieces: Sequence[_NumberPiece], language: str | None) -> Iterator[Number]:
    if language not in LANGUAGES:
        return
    for found in find_numbers(pieces, language, 0.0):
        if found.value > 1 or found.is_ordinal or found.end - found.start > 1:
            unit = RANK if found.is_ordinal else COUNT
            yield Number(pieces[found.start].start, pieces[found.end - 1].end, float(found.value), unit)
    yield from (Number(each.start, each.end, value) for each in pieces if (value := _TIMES.get(each.string.lower())))


def _value(digits: str, language: str | None) -> Value:
    """The value of digits; those of a version or date, with several signs, stay as they are."""
    groups = _GROUPS.fullmatch(digits)
    if groups and (groups[1] == "," or language != "en"):
        return float(digits.replace(groups[1], ""))
    if decimals := _DECIMALS.fullmatch(digits):
        return float(f"{decimals[1].replace(decimals[2], '')}.{decimals[3]}")
    parts = regex.split("[.,]", digits)
    return float(".".join(parts)) if len(parts) <= 2 else digits
