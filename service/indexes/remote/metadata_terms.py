"""Metadata as terms and ranges, and filters as expressions of Milvus over these.

Expressions over JSON differ between servers in types, lists, missing keys and negation. So a document gets an array of
terms, each a digest of a field and a value, which is never missing and compared for equality only, and for bounds the
least and the largest value of each field, in a form that sorts everywhere alike.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from typing import TypeAlias

from semblance_client.vocabulary.fields import Scalar

from semblance.service.filters import (
    All,
    Between,
    Condition,
    Either,
    Exists,
    Filter,
    Not,
    OneOf,
    Prefix,
    scalars,
    type_of,
)
from semblance.service.ports.documents import Metadata

MAX_TERMS = 4096  # entries of an array on the server
MAX_RANGES_BYTES = 60_000  # of a JSON field, which may have 65,536
MAX_FLOAT = sys.float_info.max
RANGE_CHARS = 32  # of a string in a range: longer ones are compared by their beginning

EVERYTHING = "ver >= -1"
NOTHING = "ver < -1"
AFTER_HEX = "g"  # sorts after every hexadecimal digit

Ordered: TypeAlias = float | str


@dataclass(frozen=True, slots=True)
class MetadataTerms:
    """Metadata as the server stores it.

    Attributes:
        terms: of each field: that it exists, the types of its values, and the values.
        ranges: least and largest number, and string, of each field that has some.
        overflow: whether there are too many, so that they were left out, and each filter finds the document.
    """

    terms: list[str]
    ranges: Mapping[str, list[Ordered]]
    overflow: bool

    @classmethod
    def of(cls, metadata: Metadata) -> MetadataTerms:
        """The terms and ranges of metadata."""
        terms: set[str] = set()
        ranges: dict[str, list[Ordered]] = {}
        for field, stored in metadata.items():
            values = scalars(stored)
            terms.update(_value_term(field, value) for value in values)
            for kind, own in groupby(sorted(values, key=type_of), type_of):
                terms.add(_term(field, "type", kind))
                if kind in ("number", "string"):
                    in_order = sorted(_ordered(value) for value in own)
                    ranges[_range_key(field, kind)] = [in_order[0], in_order[-1]]
            if values:
                terms.add(_term(field, "exists", ""))
        if len(terms) > MAX_TERMS or len(json.dumps(ranges)) > MAX_RANGES_BYTES:
            return cls([], {}, overflow=True)
        return cls(sorted(terms), ranges, overflow=False)


def expression(where: Filter | None) -> str:
    """A filter as an expression; empty for none.

    It matches every document that the filter matches. It matches others only where a field has several values and is
    compared by bounds or by a prefix, where bounds exclude their value, and where strings or numbers are too long.
    """
    return "" if where is None else f"({_expression(where, negated=False)}) or overflow == true"


def _expression(where: Filter, *, negated: bool) -> str:
    """The expression of a filter or of its opposite: only terms are negated on the server."""
    match where:
        case Not(part):
            return _expression(part, negated=not negated)
        case All(parts) | Either(parts):
            if not parts:
                return EVERYTHING if isinstance(where, All) != negated else NOTHING
            word = " and " if isinstance(where, All) != negated else " or "
            return word.join(f"({_expression(part, negated=negated)})" for part in parts)
        case _:
            return _condition(where, negated=negated)


def _condition(where: Condition | Exists, *, negated: bool) -> str:
    match where:
        case OneOf(field, values):
            return _any_of([_value_term(field, value) for value in values], negated=negated)
        case Exists(field):
            return _any_of([_term(field, "exists", "")], negated=negated)
        case Prefix(field, start):
            begin = _hex(start)
            return _within(field, "string", begin, begin + AFTER_HEX, negated=negated)
        case Between(field, low, high):
            kind = type_of(high if low is None else low)
            bounds = [None if bound is None else _ordered(bound) for bound in (low, high)]
            return _within(field, kind, *bounds, negated=negated)


def _any_of(terms: list[str], *, negated: bool) -> str:
    if not terms:
        return EVERYTHING if negated else NOTHING
    return f"{'not ' if negated else ''}array_contains_any(terms, {json.dumps(terms)})"


def _within(field: str, kind: str, low: Ordered | None, high: Ordered | None, *, negated: bool) -> str:
    """Some value may be within bounds; negated, outside of them, or of no such type."""
    key = _range_key(field, kind)
    least, largest = f'ranges["{key}"][0]', f'ranges["{key}"][1]'
    if not negated:
        parts = [f"{largest} >= {json.dumps(low)}"] if low is not None else []
        parts += [f"{least} <= {json.dumps(high)}"] if high is not None else []
        return " and ".join(parts)
    parts = [f"{least} <= {json.dumps(low)}"] if low is not None else []
    parts += [f"{largest} >= {json.dumps(high)}"] if high is not None else []
    return " or ".join([*parts, _any_of([_term(field, "type", kind)], negated=True)])


def _ordered(value: Scalar) -> Ordered:
    """A number or a string in a form that keeps the order, though not every difference."""
    if isinstance(value, str):
        return _hex(value)
    assert value is not None
    return float(max(-MAX_FLOAT, min(MAX_FLOAT, value)))


def _hex(text: str) -> str:
    """The beginning of a text as hexadecimal digits, which sort as its code points do."""
    return text[:RANGE_CHARS].encode("utf-8", "surrogatepass").hex()


def _value_term(field: str, value: Scalar) -> str:
    kind = type_of(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # equal numbers have one term
    return _term(field, f"={kind}", str(value))


def _term(field: str, kind: str, value: str) -> str:
    content = json.dumps([field, kind, value]).encode()
    return blake2b(content, digest_size=12).hexdigest()


def _range_key(field: str, kind: str) -> str:
    return f"{kind[0]}{blake2b(field.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"
