"""The grammar of filters as JSON schema, for the OpenAPI document; service/filters.py is what decides."""

from __future__ import annotations

from typing import Any

from semblance.service.filters import MAX_CONDITIONS

_SCALAR = {"type": ["string", "number", "boolean", "null"]}
_ONE_OF = {
    "type": "object",
    "properties": {"in": {"type": "array", "items": _SCALAR, "maxItems": MAX_CONDITIONS}},
    "required": ["in"],
    "additionalProperties": False,
}


def _bounds(type_: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": type_} for name in ("gt", "gte", "lt", "lte")},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 2,
    }


# what `and` and `or` hold are filters again; that much is not spelt out, because tools take minutes over a schema that
# holds itself
_PARTS = {"type": "array", "items": {"type": "object", "minProperties": 1}, "minItems": 1}

FILTER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "minProperties": 1,
    "properties": {"and": _PARTS, "or": _PARTS},
    "additionalProperties": {"anyOf": [_SCALAR, _ONE_OF, _bounds("number"), _bounds("string")]},
}
