"""Conditions on a document's metadata, as the HTTP contract writes them.

{"category": "billing"}                       equal; on a list: one of its entries is equal
{"category": {"in": ["billing", "plans"]}}    equal to one of these
{"views": {"gte": 100, "lt": 5000}}           within bounds; numbers with numbers, strings with strings
{"and": [...]}, {"or": [...]}                 all of them, one of them; several keys in one object are an "and"
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool | None

MAX_DEPTH = 8
MAX_CONDITIONS = 256
_BOUNDS = ("gt", "gte", "lt", "lte")


@dataclass(frozen=True, slots=True)
class OneOf:
    """The field holds one of these values."""

    field: str
    values: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """The field holds a value within the bounds; None is no bound."""

    field: str
    low: str | float | None
    high: str | float | None
    includes_low: bool
    includes_high: bool


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one part holds."""

    parts: tuple[Filter, ...]


Filter: TypeAlias = OneOf | Between | All | Either


def parse_filter(given: object) -> Filter:
    """The filter that a JSON object describes.

    >>> parse_filter({"views": {"gte": 100}})
    Between(field='views', low=100, high=None, includes_low=True, includes_high=True)

    Raises:
        ValueError: saying what is wrong with it.
    """
    parsed = _parse(given, depth=1)
    if _conditions(parsed) > MAX_CONDITIONS:
        raise ValueError(f"a filter has at most {MAX_CONDITIONS} conditions")
    return parsed


def _parse(given: object, depth: int) -> Filter:
    if not isinstance(given, Mapping) or not given:
        raise ValueError("a filter is an object with at least one field")
    if depth > MAX_DEPTH:
        raise ValueError(f"a filter is nested at most {MAX_DEPTH} deep")
    parts = tuple(_part(key, value, depth) for key, value in given.items())
    return parts[0] if len(parts) == 1 else All(parts)


def _part(key: str, value: object, depth: int) -> Filter:
    if key in ("and", "or"):
        if not isinstance(value, list) or not value:
            raise ValueError(f"{key!r} takes a list of filters")
        parts = tuple(_parse(part, depth + 1) for part in value)
        return All(parts) if key == "and" else Either(parts)
    if not isinstance(value, Mapping):
        return OneOf(key, (_scalar(value),))
    if value.keys() == {"in"}:
        if not isinstance(value["in"], list):
            raise ValueError("'in' takes a list of values")
        return OneOf(key, tuple(_scalar(entry) for entry in value["in"]))
    return _between(key, value)


def _between(field: str, given: Mapping[str, object]) -> Between:
    unknown = [name for name in given if name not in _BOUNDS]
    if unknown or not given:
        raise ValueError(f"a condition is a value, or an object with 'in' or some of {', '.join(_BOUNDS)}")
    if {"gt", "gte"} <= given.keys() or {"lt", "lte"} <= given.keys():
        raise ValueError("give one lower and one upper bound at most")
    bounds = {name: _ordered(value) for name, value in given.items()}
    if len({isinstance(bound, str) for bound in bounds.values()}) > 1:
        raise ValueError("both bounds must be numbers, or both strings")
    return Between(
        field,
        low=bounds.get("gt", bounds.get("gte")),
        high=bounds.get("lt", bounds.get("lte")),
        includes_low="gt" not in bounds,
        includes_high="lt" not in bounds,
    )


def _scalar(value: object) -> Scalar:
    if value is not None and not isinstance(value, str | int | float | bool):
        raise ValueError("a value to compare with is a string, a number, true, false or null")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number to compare with is finite")
    return value


def _ordered(value: object) -> str | float:
    scalar = _scalar(value)
    if isinstance(scalar, bool) or scalar is None:
        raise ValueError("a bound is a number or a string")
    return scalar


def _conditions(given: Filter) -> int:
    match given:
        case All(parts) | Either(parts):
            return sum(map(_conditions, parts))
        case OneOf(values=values):
            return max(1, len(values))
        case Between():
            return 1
