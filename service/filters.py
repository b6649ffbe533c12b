"""Filters on document metadata: the JSON syntax of the HTTP API and its parsed form.

{"category": "billing"}                       equal; for a list, one of its entries is equal
{"category": {"in": ["billing", "plans"]}}    equal to one of the values
{"views": {"gte": 100, "lt": 5000}}           within bounds, all numbers or all strings
{"team": {"prefix": "hr-"}}                   a string that begins with these characters
{"team": {"exists": true}}                    a value that can be compared, null included; false: none
{"and": [...]}, {"or": [...]}                 all or at least one; several keys in one object are an "and"
{"not": {...}}                                documents that do not match, also those without the field
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from semblance_client.vocabulary.fields import MAX_CONDITIONS, Scalar

from semblance.service.errors import pointer_to, shorten

ValueType: TypeAlias = Literal["null", "boolean", "number", "string"]  # values of two types are never equal

MAX_DEPTH = 8
_SHOWN_CHARS = 100  # of a field's name in a message
_BOUNDS = ("gt", "gte", "lt", "lte")


@dataclass(frozen=True, slots=True)
class OneOf:
    """The field has one of these values; `pointer` is the place of the condition in the filter."""

    field: str
    values: tuple[Scalar, ...]
    pointer: str = dataclass_field(default="", compare=False, repr=False)

    @property
    def types(self) -> frozenset[ValueType]:
        """Types of the values that it accepts."""
        return frozenset(map(type_of, self.values))


@dataclass(frozen=True, slots=True)
class Between:
    """The field has a value within the bounds; None means no bound. `pointer` as in `OneOf`."""

    field: str
    low: str | float | None
    high: str | float | None
    includes_low: bool
    includes_high: bool
    pointer: str = dataclass_field(default="", compare=False, repr=False)

    @property
    def types(self) -> frozenset[ValueType]:
        """Type of the bounds."""
        return frozenset([type_of(self.high if self.low is None else self.low)])


@dataclass(frozen=True, slots=True)
class Prefix:
    """The field has a string that begins with `start`. `pointer` as in `OneOf`."""

    field: str
    start: str
    pointer: str = dataclass_field(default="", compare=False, repr=False)

    @property
    def types(self) -> frozenset[ValueType]:
        """Strings only."""
        return frozenset(["string"])


@dataclass(frozen=True, slots=True)
class Exists:
    """The field has a value that can be compared."""

    field: str


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not match."""

    part: Filter


@dataclass(frozen=True, slots=True)
class All:
    """Every part matches."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one part matches."""

    parts: tuple[Filter, ...]


Condition: TypeAlias = OneOf | Between | Prefix
"""Compares the values of a field."""

Filter: TypeAlias = Condition | Exists | Not | All | Either

EVERYTHING = All(())  # matches every document


class MalformedFilter(ValueError):
    """A filter outside the grammar; `place` is the JSON pointer into it of what is wrong."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.place = place


def parse_filter(json: object) -> Filter:
    """Parse the JSON form of a filter.

    >>> parse_filter({"views": {"gte": 100}})
    Between(field='views', low=100, high=None, includes_low=True, includes_high=True)

    Raises:
        MalformedFilter: it is malformed or too large; the message says why.
    """
    parsed = _parse(json, depth=1, place="")
    if _count_conditions(parsed) > MAX_CONDITIONS:
        raise MalformedFilter(f"a filter can have at most {MAX_CONDITIONS} conditions")
    return parsed


def type_of(value: Scalar) -> ValueType:
    """Type of a value: `True` is not a number.

    >>> type_of(True), type_of(1), type_of(1.5), type_of("1"), type_of(None)
    ('boolean', 'number', 'number', 'string', 'null')
    """
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case _:
            return "number"


def matches(where: Filter, metadata: Mapping[str, Any]) -> bool:
    """Whether a document with this metadata matches a filter, as in the index.

    >>> matches(parse_filter({"team": "hr"}), {"team": ["hr", "it"]}), matches(parse_filter({"team": "hr"}), {})
    (True, False)
    """
    match where:
        case Not(part):
            return not matches(part, metadata)
        case All(parts):
            return all(matches(part, metadata) for part in parts)
        case Either(parts):
            return any(matches(part, metadata) for part in parts)
        case _:
            return any(_meets(where, value) for value in scalars(metadata.get(where.field, [])))


def scalars(value: object) -> list[Scalar]:
    """The values to compare in a metadata field: itself, or the entries of a list.

    >>> scalars("a"), scalars(["a", {}, 1]), scalars({"b": 1})
    (['a'], ['a', 1], [])
    """
    values = value if isinstance(value, list) else [value]
    return [each for each in values if each is None or isinstance(each, str | int | float | bool)]


def _meets(condition: Condition | Exists, value: Scalar) -> bool:
    match condition:
        case Exists():
            return True
        case OneOf(values=values):
            return any(type_of(each) == type_of(value) and each == value for each in values)
        case Prefix(start=start):
            return isinstance(value, str) and value.startswith(start)
        case Between():
            return type_of(value) in condition.types and _within(condition, value)


def _within(bounds: Between, value: Any) -> bool:
    """Whether a value of the type of the bounds is between them."""
    if bounds.low is not None and (value < bounds.low or (value == bounds.low and not bounds.includes_low)):
        return False
    return bounds.high is None or value < bounds.high or (value == bounds.high and bounds.includes_high)


def seconds_of(date: str) -> float | None:
    """Seconds since 1970 of a date in ISO 8601, by default in UTC; None in another form.

    >>> seconds_of("1970-01-02"), seconds_of("02.01.1970")
    (86400.0, None)
    """
    try:
        time = datetime.fromisoformat(date)
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _parse(json: object, depth: int, place: str) -> Filter:
    if not isinstance(json, Mapping) or not json:
        raise MalformedFilter(_FORM, place)
    if depth > MAX_DEPTH:
        raise MalformedFilter(f"a filter can be nested at most {MAX_DEPTH} levels deep", place)
    parts = tuple(_part(key, value, depth, place + pointer_to(key)) for key, value in json.items())
    return parts[0] if len(parts) == 1 else All(parts)


def _part(key: str, value: object, depth: int, place: str) -> Filter:
    try:
        return _parsed(key, value, depth, place)
    except MalformedFilter:
        raise
    except ValueError as error:
        raise MalformedFilter(str(error), place) from error


def _parsed(key: str, value: object, depth: int, place: str) -> Filter:
    if key in ("and", "or"):
        if not isinstance(value, list) or not value:
            raise ValueError(f"{key!r} must be a non-empty list of filters")
        parts = tuple(_parse(part, depth + 1, f"{place}/{i}") for i, part in enumerate(value))
        return All(parts) if key == "and" else Either(parts)
    if key == "not":
        return Not(_parse(value, depth + 1, place))
    if not isinstance(value, Mapping):
        return OneOf(key, (_value_of(key, value),), place)
    if len(value) == 1 and (operator := next(iter(value))) in _OPERATORS:
        return _OPERATORS[operator](key, value[operator], place)
    return _between(key, value, place)


def _one_of(field: str, values: object, place: str) -> OneOf:
    match values:
        case list():
            return OneOf(field, tuple(map(_scalar, values)), place)
        case _:
            raise ValueError("'in' must be a list of values")


def _prefix(field: str, start: object, place: str) -> Prefix:
    match start:
        case str() if start:
            return Prefix(field, start, place)
        case _:
            raise ValueError("'prefix' must be a string of at least one character")


def _exists(field: str, wanted: object, place: str) -> Exists | Not:
    del place  # nothing warns of it
    match wanted:
        case bool():
            return Exists(field) if wanted else Not(Exists(field))
        case _:
            raise ValueError("'exists' must be true or false")


_OPERATORS: Mapping[str, Callable[[str, object, str], Filter]] = {"in": _one_of, "prefix": _prefix, "exists": _exists}
_FORM = 'a filter must be an object with at least one field, such as {"category": "shipping"}'
_FORMS = (
    f"a condition must be a value, or an object with one of {', '.join(map(repr, _OPERATORS))}, or with bounds "
    f"({', '.join(_BOUNDS)})"
)
_OF_OTHERS: Mapping[str, str] = {  # of MongoDB and Elasticsearch, written out of habit -> what is meant
    **{f"${name}": repr(name) for name in ("and", "or", "not", *_OPERATORS, *_BOUNDS)},
    "$eq": "the value itself",
    "$ne": '{"not": {"field": value}}',
    "$nin": '{"not": {"field": {"in": [...]}}}',
    "bool": "its parts as 'and', 'or' and 'not'",
    "must": "'and'",
    "filter": "'and'",
    "should": "'or'",
    "must_not": "'not'",
    "term": '{"field": value}',
    "terms": '{"field": {"in": [...]}}',
    "range": '{"field": {"gte": ...}}',
    "exists": '{"field": {"exists": true}}',
    "match": "its text as the query of the search",
}


def _between(field: str, condition: Mapping[str, object], place: str) -> Between:
    unknown = [name for name in condition if name not in _BOUNDS]
    if unknown or not condition:
        raise ValueError(_misread(field) or _unknown_operator(field, unknown[0]) if unknown else _FORMS)
    if {"gt", "gte"} <= condition.keys() or {"lt", "lte"} <= condition.keys():
        raise ValueError("a condition can have at most one lower and one upper bound")
    bounds = {name: _ordered(value) for name, value in condition.items()}
    if len({isinstance(bound, str) for bound in bounds.values()}) > 1:
        raise ValueError("the bounds must both be numbers or both be strings")
    return Between(
        field,
        low=bounds.get("gt", bounds.get("gte")),
        high=bounds.get("lt", bounds.get("lte")),
        includes_low="gt" not in bounds,
        includes_high="lt" not in bounds,
        pointer=place,
    )


def _value_of(field: str, value: object) -> Scalar:
    match value:
        case list():
            listed = f'{shown(field)} has a list: for one of several values write {{"in": [...]}}'
            raise ValueError(_misread(field) or listed)
        case _:
            return _scalar(value)


def _unknown_operator(field: str, name: str) -> str:
    """The message for a condition with something else than operators."""
    if name in _OPERATORS:
        return f"{name!r} must be alone in its condition: join several by 'and'"
    return _misread(name) or (
        f"{shown(name)} is not an operator: {_FORMS}; fields of an object cannot be compared, so store that of "
        f"{shown(field)} as a field of its own"
    )


def _misread(name: str) -> str | None:
    """The message for an operator of another grammar; None if `name` is none."""
    return f"{name!r} is not an operator: write {_OF_OTHERS[name]}" if name in _OF_OTHERS else None


def shown(name: str) -> str:
    """A name in a message, shortened."""
    return repr(shorten(name, _SHOWN_CHARS))


def _scalar(value: object) -> Scalar:
    if value is not None and not isinstance(value, str | int | float | bool):
        raise ValueError("a value must be a string, a number, true, false or null")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number must be finite")
    return value


def _ordered(value: object) -> str | float:
    scalar = _scalar(value)
    if isinstance(scalar, bool) or scalar is None:
        raise ValueError("a bound must be a number or a string")
    return scalar


def _count_conditions(parsed: Filter) -> int:
    match parsed:
        case All(parts) | Either(parts):
            return sum(map(_count_conditions, parts))
        case OneOf(values=values):
            return max(1, len(values))
        case Not(part):
            return _count_conditions(part)
        case _:
            return 1
