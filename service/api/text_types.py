"""Strings, names and metadata as requests may give them: refused early, so that nothing odd is ever stored."""

from __future__ import annotations

import json
import math
import unicodedata
from typing import Annotated, Any

from pydantic import AfterValidator, Field, JsonValue
from pydantic_core import PydanticCustomError

from service.filters import Filter, parse_filter
from service.ports import Version

MAX_METADATA_DEPTH = 8
MAX_METADATA_CHARS = 65_536
NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,63}$"


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
    if any(unicodedata.category(character) == "Cc" for character in text) or text in (".", ".."):
        raise PydanticCustomError("bad_id", "an id has no control characters, and is not '.' or '..'")
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


def _filter(given: dict[str, Any]) -> dict[str, Any]:
    read_filter(given)
    return given


def read_filter(given: dict[str, Any] | None) -> Filter | None:
    """The filter of a request."""
    if given is None:
        return None
    try:
        return parse_filter(given)
    except ValueError as error:
        raise PydanticCustomError("bad_filter", "{reason}", {"reason": str(error)}) from error


def _version(text: str) -> str:
    try:
        Version.parse(text)
    except ValueError as error:
        raise PydanticCustomError("bad_version", "{reason}", {"reason": str(error)}) from error
    return text


Text = Annotated[str, AfterValidator(_well_formed)]
DocumentId = Annotated[
    str, Field(min_length=1, max_length=256), AfterValidator(_well_formed), AfterValidator(_printable)
]
CollectionName = Annotated[
    str, Field(pattern=NAME_PATTERN, description="Lower-case letters, digits, '.', '_' and '-'.")
]
MetadataObject = Annotated[dict[str, JsonValue], AfterValidator(_storable)]
FilterObject = Annotated[dict[str, Any], AfterValidator(_filter)]
VersionText = Annotated[str, AfterValidator(_version)]
