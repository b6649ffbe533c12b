"""Numbers of a text with their units, dates and times, compared by their amounts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import regex

from semblance.models.files.word_lists import lines_of
from semblance.models.paraphrases.numbers import COUNT, DATE, RANK, TIME, Number, NumberUnit, numbers

_PACKAGE = "semblance.models.paraphrases"
_DAYS = 31
_NOON = 12
_GLUED = regex.compile(r"(\d+)\D+")
_HALF_DAY = regex.compile(r"\s?([ap])(?:m\b|\.m\.)", regex.IGNORECASE)
_CURRENCY = regex.compile(r"(US\$|\p{Sc}|\b[A-Z]{3})\s?\Z")
_OF = r"(?:of\s+|de\s+|di\s+|d['’])?"  # between a day and its month


def quantities(text: str, language: str | None) -> list[Number]:
    """The numbers of a text in reading order, with their units; dates are without their year.

    >>> [number.key for number in quantities("1.5 km on 3 January at 5:30 pm for $2 million", "en")]
    [(1500.0, 'length'), (103.0, 'date'), (17.5, 'time'), (2000000.0, 'USD')]
    """
    found: list[Number] = []
    for number in numbers(text, language):
        start = found[-1].end if found else 0
        if number.start >= start:
            found.append(_quantity(text, start, number))
    return found


def differing(a: Sequence[Number], b: Sequence[Number]) -> tuple[list[Number], list[Number]]:
    """The numbers of either text that have no equal in the other.

    Each equals one at most. A number without a unit equals one of the same value that has a unit, but no rank.
    """
    left, right = _lacking(a, b), _lacking(b, a)
    for number in tuple(left):
        equal = next((other for other in right if _may_be_equal(number, other)), None)
        if equal is not None:
            left.remove(number)
            right.remove(equal)
    return left, right


def _lacking(own: Sequence[Number], other: Sequence[Number]) -> list[Number]:
    left, found = Counter(number.key for number in other), []
    for number in own:
        if left[number.key]:
            left[number.key] -= 1
        else:
            found.append(number)
    return found


def _may_be_equal(a: Number, b: Number) -> bool:
    return a.value == b.value and COUNT in (a.unit, b.unit) and RANK not in (a.unit, b.unit)


def _quantity(text: str, start: int, number: Number) -> Number:
    """A number with the unit beside it; `start` is the end of the number before."""
    if isinstance(number.value, str):
        return _glued(text, start, number)
    return _date(text, start, number) or (number if number.unit != COUNT else _amount(text, start, number))


def _glued(text: str, start: int, code: Number) -> Number:
    """The amount of digits before a unit, such as 5km; or the code itself."""
    digits = _GLUED.fullmatch(text, code.start, code.end)
    if digits is None:
        return code
    amount = _amount(text, start, replace(code, end=digits.end(1), value=float(digits[1])))
    return amount if amount.end == code.end else code


def _date(text: str, start: int, number: Number) -> Number | None:
    """The day of a month beside it."""
    if not isinstance(number.value, float) or not 1 <= number.value <= _DAYS or not number.value.is_integer():
        return None
    before, after = _month_patterns()
    if found := after.match(text, number.end):
        place = replace(number, end=found.end())
    elif found := before.search(text, start, number.start):
        place = replace(number, start=found.start())
    else:
        return None
    month = _months().get(_name(found[1], _months()))
    return None if month is None else replace(place, value=100 * month + number.value, unit=DATE)


def _amount(text: str, start: int, number: Number) -> Number:
    """The time of day, or the amount in the unit after it, or of the currency before it."""
    if not isinstance(number.value, float):
        return number
    if half := _HALF_DAY.match(text, number.end):
        offset = (12 if half[1] in "pP" else 0) - (12 if int(number.value) == _NOON else 0)
        return replace(number, end=half.end(), unit=TIME._replace(offset=offset))
    if (found := _unit_pattern().match(text, number.end)) and (unit := _unit(found[1])).measured == COUNT.measured:
        number = replace(number, end=found.end(), value=number.value * unit.factor)
        found = _unit_pattern().match(text, number.end)
    if (sign := _CURRENCY.search(text, start, number.start)) and _name(sign[1], _units()):
        return replace(number, start=sign.start(), unit=_unit(sign[1]))
    if found and (unit := _unit(found[1])).measured != COUNT.measured:
        return replace(number, end=found.end(), unit=unit)
    return number


def _unit(name: str) -> NumberUnit:
    return _units().get(_name(name, _units()), COUNT)  # a pattern in any case also matches letters like a long s


def _name(read: str, names: Mapping[str, object]) -> str:
    """The name of a list that stands in a text in other case or with other spaces; or nothing."""
    spaced = regex.sub(r"[\s-]", " ", read)
    return next((name for name in (spaced, spaced.lower()) if name in names), "")


@cache
def _units() -> Mapping[str, NumberUnit]:
    return {
        name.replace("_", " "): NumberUnit(measured, float(factor))
        for measured, factor, *names in lines_of(_PACKAGE, "units.txt")
        for name in names
    }


@cache
def _months() -> Mapping[str, int]:
    return {name: month for month, names in enumerate(lines_of(_PACKAGE, "months.txt"), 1) for name in names}


@cache
def _unit_pattern() -> regex.Pattern[str]:
    return regex.compile(rf"[\s-]?({_alternatives(_units())})(?![\w'’])")


@cache
def _month_patterns() -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """Of a month before a day and after it."""
    names = _alternatives(_months())
    return (
        regex.compile(rf"\b({names})\.?\s+(?:the\s+)?\Z"),
        regex.compile(rf"\.?\s+{_OF}({names})\b"),
    )


def _alternatives(names: Iterable[str]) -> str:
    """A pattern of names, in any case but those of one letter or with a capital."""
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return "|".join(map(_alternative, longest_first))


def _alternative(name: str) -> str:
    pattern = regex.escape(name).replace(r"\ ", r"[\s-]")
    return pattern if len(name) == 1 or name != name.lower() else f"(?i:{pattern})"
