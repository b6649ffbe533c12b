"""Warnings of conditions that no document can meet, and of metadata fields that none has."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from semblance_client.vocabulary.responses import RequestWarning

from semblance.service.filters import All, Between, Condition, Either, Exists, Filter, Not, ValueType, seconds_of, shown
from semblance.service.names import did_you_mean

_PLURAL: Mapping[ValueType, str] = {
    "null": "null",
    "boolean": "true or false",
    "number": "numbers",
    "string": "strings",
}

_LIKE_A_DATE = re.compile(r"(\d{4}([./-])\d{1,2}\2\d{1,2}|\d{1,2}([./-])\d{1,2}\3\d{4})(?!\d)")


def mismatches(
    where: Filter,
    types_in: Callable[[str], Collection[ValueType]],
    named: Mapping[str, str],
    fields: Callable[[], Iterable[str]],
) -> list[RequestWarning]:
    """Warnings of conditions that no document can meet, and of unknown fields.

    Also inside of a `Not`, which then matches everything.

    Args:
        where: the filter.
        types_in: the types of the values that documents have in a field; empty if none has the field.
        named: other fields of the request, by the pointers to them.
        fields: those that documents have.
    """
    found = [_mismatch(condition, types_in(condition.field), fields) for condition in _conditions(where)]
    unknown = [_unknown_field(pointer, field, fields) for pointer, field in named.items() if not types_in(field)]
    return [*filter(None, found), *unknown]


def _conditions(where: Filter) -> Iterator[Condition]:
    match where:
        case All(parts) | Either(parts):
            for part in parts:
                yield from _conditions(part)
        case Not(part):
            yield from _conditions(part)
        case Exists():
            return  # it asks whether the field is there
        case _:
            yield where


def _mismatch(
    condition: Condition, present: Collection[ValueType], fields: Callable[[], Iterable[str]]
) -> RequestWarning | None:
    pointer, field, wanted = f"/filter{condition.pointer}", shown(condition.field), condition.types
    if not present:
        return _unknown_field(pointer, condition.field, fields)
    if wanted and wanted.isdisjoint(present):
        detail = f"the documents have {_listed(present)} in the metadata field {field}, never {_listed(wanted)}"
        return RequestWarning(pointer=pointer, code="filter_type_mismatch", detail=detail)
    if isinstance(condition, Between) and (bound := _unread_date(condition)):
        detail = f"{shown(bound)} is compared as a string: write dates as 2026-05-31 or 2026-05-31T12:00:00Z"
        return RequestWarning(pointer=pointer, code="unread_date", detail=detail)
    return None


def _unknown_field(pointer: str, field: str, fields: Callable[[], Iterable[str]]) -> RequestWarning:
    detail = f"no document of the collection has a value to compare in the metadata field {shown(field)}"
    return RequestWarning(pointer=pointer, code="unknown_metadata_field", detail=detail + did_you_mean(field, fields()))


def _unread_date(bounds: Between) -> str | None:
    """A bound that looks like a date, and is none as ISO 8601 writes them."""
    texts = [each for each in (bounds.low, bounds.high) if isinstance(each, str)]
    return next((each for each in texts if _LIKE_A_DATE.match(each) and seconds_of(each) is None), None)


def _listed(types: Iterable[ValueType]) -> str:
    return " or ".join(_PLURAL[each] for each in sorted(types))
