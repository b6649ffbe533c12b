"""Types of the columns of a CSV or TSV file, whose values are all strings."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from semblance.service.files.sources import SourceRow

Cast: TypeAlias = Callable[[str], Any]

_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,14})")  # more digits may be lost in programs that read JSON numbers as floats
_DIGITS = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_BOOLEANS = {"true": True, "false": False}


def column_types(rows: Iterable[SourceRow]) -> Mapping[str, Cast]:
    """The conversion of each column's values, from one pass over all rows.

    A column becomes integers, numbers or booleans if all its values are, apart from empty ones: integers of at most 15
    digits without leading zeros; numbers in decimal notation; `true` and `false` in any case. Everything else stays a
    string, such as 00123, 2025-01-31, yes or nan, and then the whole column does.

    >>> rows = [SourceRow(2, {"zip": "01067", "n": "3", "p": "2"}), SourceRow(3, {"zip": "10115", "n": "", "p": "2.5"})]
    >>> {name: cast("2") for name, cast in column_types(rows).items()}
    {'zip': '2', 'n': 2, 'p': 2.0}
    """
    kinds: dict[str, Cast] = {}
    for row in rows:
        assert isinstance(row.fields, Mapping), "a table has columns"
        for name, value in row.fields.items():
            known = kinds.get(name)
            if known is not str and (text := value.strip()):
                kinds[name] = _common(known, _kind(text))
    return kinds


def _kind(text: str) -> Cast:
    if _INTEGER.fullmatch(text):
        return int
    if _NUMBER.fullmatch(text) and not _DIGITS.fullmatch(text) and math.isfinite(float(text)):
        return float
    return _boolean if text.lower() in _BOOLEANS else str


def _common(known: Cast | None, other: Cast) -> Cast:
    if known is None or known is other:
        return other
    return float if {known, other} == {int, float} else str


def _boolean(text: str) -> bool:
    return _BOOLEANS[text.strip().lower()]
