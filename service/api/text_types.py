"""Strings, names and metadata as requests may give them: refused early, so that nothing odd is ever stored."""

from __future__ import annotations

import json
import math
import unicodedata
from typing import Annotated, Any

from fastapi import Path
from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from semblance.service import names
from semblance.service.api.filter_schema import FILTER_SCHEMA
from semblance.service.filters import Filter, parse_filter
from semblance.service.ports.documents import Version
from semblance.service.settings import MAX_ENTRIES

MAX_METADATA_DEPTH = 8
MAX_METADATA_CHARS = 65_536
# what the document can say of strings; more is refused, such as a text of zero-width characters only
TEXT_PATTERN = r"^[^\x00]*[^\s\x00][^\x00]*$"
ID_PATTERN = r"^[^\x00-\x1f\x7f-\x9f]+$"
CURSOR_PATTERN = r"^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2}==|[A-Za-z0-9_-]{3}=)?$"


def _well_formed(text: str) -> str:
    """No lone surrogate, which is no character, and no NUL, which databases refuse."""
    if "\x00" in text:
        raise PydanticCustomError("ill_formed_text", "it holds a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("ill_formed_text", "it holds a lone surrogate, which is no character") from None
    return text


def _printable(text: str) -> str:
    if any(unicodedata.category(character) == "Cc" for character in text) or {".", ".."} & set(text.split("/")):
        raise PydanticCustomError("bad_id", "an id has no control characters, and no '.' or '..' between slashes")
    return text


def _storable(metadata: dict[str, JsonValue]) -> dict[str, JsonValue]:
    _require_storable(metadata, depth=1)
    if len(json.dumps(metadata)) > MAX_METADATA_CHARS:
        raise PydanticCustomError("metadata_too_large", f"as JSON it has more than {MAX_METADATA_CHARS:,} characters")
    return metadata


def _require_storable(value: JsonValue, depth: int) -> None:
    if depth > MAX_METADATA_DEPTH:
        raise PydanticCustomError("metadata_too_deep", f"it is nested more than {MAX_METADATA_DEPTH} deep")
    match value:
        case str():
            _well_formed(value)
        case float() if not math.isfinite(value):
            raise PydanticCustomError("not_finite", "NaN and infinity cannot be stored or compared")
        case list():
            for entry in value:
                _require_storable(entry, depth + 1)
        case dict():
            for key, entry in value.items():
                _well_formed(key)
                _require_storable(entry, depth + 1)


def _filter(given: object) -> Filter:
    try:
        return parse_filter(given)
    except ValueError as error:
        raise PydanticCustomError("bad_filter", "{reason}", {"reason": str(error)}) from error


def _version(given: object) -> Version:
    try:
        return Version.parse(given if isinstance(given, str) else "")
    except ValueError as error:
        raise PydanticCustomError("bad_version", "{reason}", {"reason": str(error)}) from error


def _bounded(given: object) -> object:
    """Refuse an endless list before its entries are looked at: each would be an error message of its own."""
    if isinstance(given, list) and len(given) > MAX_ENTRIES:
        raise PydanticCustomError("out_of_range", "it has more than {most} entries", {"most": MAX_ENTRIES})
    return given


def keywords(**given: Any) -> dict[str, Any]:
    """Keywords of JSON schema; `known_maximum="max_k"` stands for `maximum` and the value of that name: see openapi.py.

    >>> keywords(minimum=1, known_maximum="max_k")
    {'minimum': 1, 'known-maximum': 'max_k'}
    """
    return {name.replace("known_", "known-"): value for name, value in given.items()}


def documented(**given: Any) -> Any:
    """Keywords for the OpenAPI document only: the code that refuses knows more, and has its own codes."""
    return Field(json_schema_extra=keywords(**given))


String = Annotated[str, AfterValidator(_well_formed)]
Text = Annotated[String, documented(minLength=1, pattern=TEXT_PATTERN, known_maxLength="max_text_chars")]
ModelName = Annotated[String, documented(known_enum="models")]
# names of what there is, or is not: any other string is as unknown
_OF_COLLECTION = documented(pattern=names.PATTERN, examples=["default"])
_OF_DOCUMENT = documented(minLength=1, maxLength=256, pattern=ID_PATTERN, examples=["shipping-001"])
NamedCollection = Annotated[String, _OF_COLLECTION]
NamedDocument = Annotated[String, _OF_DOCUMENT]
CollectionInPath = Annotated[str, _OF_COLLECTION, Path()]
DocumentInPath = Annotated[str, _OF_DOCUMENT, Path()]
DocumentId = Annotated[
    str,
    Field(min_length=1, max_length=256),
    documented(pattern=ID_PATTERN),
    AfterValidator(_well_formed),
    AfterValidator(_printable),
]
CollectionName = Annotated[
    str, Field(pattern=names.PATTERN, description="Lower-case letters, digits, '.', '_' and '-'.")
]
MetadataObject = Annotated[dict[str, JsonValue], AfterValidator(_storable)]
# Any, because pydantic would list the classes of a filter among the public schemas
FilterObject = Annotated[
    Any,
    PlainValidator(_filter),
    WithJsonSchema(FILTER_SCHEMA),
    Field(description="Conditions on metadata: see docs/search.md.", examples=[{"category": "shipping"}]),
]
VersionText = Annotated[
    Any, PlainValidator(_version), WithJsonSchema({"type": "string", "pattern": "^.+:[0-9]{1,18}$"})
]
Bounded = BeforeValidator(_bounded)
