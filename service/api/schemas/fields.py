"""Field types and base class of request bodies; bad values are refused here."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from fastapi import Path
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from semblance.service import names
from semblance.service.filters import MAX_CONDITIONS, Filter, parse_filter
from semblance.service.ports.documents import Version
from semblance.service.settings import MAX_ENTRIES
from semblance.service.usecases.documents.metadata import MAX_METADATA_CHARS, is_too_large

MAX_FIELDS = 100  # of an object in a request, metadata excepted
MAX_METADATA_DEPTH = 8
# what JSON schema can say of strings; more is refused, such as a text of zero-width characters only
TEXT_PATTERN = r"^[^\x00]*[^\s\x00][^\x00]*$"
ID_PATTERN = r"^[^\x00-\x1f\x7f-\x9f]+$"
CURSOR_PATTERN = r"^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2}==|[A-Za-z0-9_-]{3}=)?$"


def _well_formed(text: str) -> str:
    """Refuse lone surrogates, which are no characters, and NUL, which databases refuse."""
    if "\x00" in text:
        raise PydanticCustomError("ill_formed_text", "it contains a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("ill_formed_text", "it contains a lone surrogate, which is no character") from None
    return text


def _printable(text: str) -> str:
    if any(unicodedata.category(character) == "Cc" for character in text) or {".", ".."} & set(text.split("/")):
        raise PydanticCustomError("bad_id", "an id has no control characters, and no '.' or '..' between slashes")
    return text


def _storable(metadata: dict[str, JsonValue]) -> dict[str, JsonValue]:
    _require_storable(metadata, depth=1)
    if is_too_large(metadata):
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


def _filter(value: object) -> Filter:
    try:
        return parse_filter(value)
    except ValueError as error:
        raise PydanticCustomError("bad_filter", "{reason}", {"reason": str(error)}) from error


def _version(value: object) -> Version:
    try:
        return Version.parse(value if isinstance(value, str) else "")
    except ValueError as error:
        raise PydanticCustomError("bad_version", "{reason}", {"reason": str(error)}) from error


def _bounded(value: object) -> object:
    """Refuse an overlong list before its entries are validated: each could be an error message."""
    if isinstance(value, list) and len(value) > MAX_ENTRIES:
        raise PydanticCustomError("out_of_range", "it has more than {most} entries", {"most": MAX_ENTRIES})
    return value


Space: TypeAlias = Annotated[
    str,
    Field(description="Digest of all that decides what a vector means; vectors and scores are comparable within one."),
]


def keywords(**values: Any) -> dict[str, Any]:
    """Keywords of JSON schema; those with `known_` name a value that openapi.py fills in.

    `known_maximum="max_k"` becomes `maximum` with the value of `max_k`.

    >>> keywords(minimum=1, known_maximum="max_k")
    {'minimum': 1, 'known-maximum': 'max_k'}
    """
    return {name.replace("known_", "known-"): value for name, value in values.items()}


def documented(**values: Any) -> Any:
    """Keywords for the OpenAPI document only: validators are more exact, with their own codes."""
    return Field(json_schema_extra=keywords(**values))


def one_of(*alternatives: dict[str, Any]) -> list[Any]:
    """Keyword `allOf` of a body that must be one of some alternatives.

    A `oneOf` of the body itself would replace its fields in generated clients.
    """
    return [{"oneOf": list(alternatives)}]


def alternative(types: Mapping[str, str], *absent: str, **constants: object) -> dict[str, Any]:
    """Schema of one alternative of a body: its fields by type, and the fields it must not have."""
    return {
        "required": list(types),
        "properties": {
            **{name: _ANY_LIST if type_ == "array" else {"type": type_} for name, type_ in types.items()},
            **{name: {"type": "null"} for name in absent},
            **{name: {"const": value} for name, value in constants.items()},
        },
    }


_ANY_LIST = {"type": "array", "items": {}}  # code generators require `items`


def _bounds(type_: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": type_} for name in ("gt", "gte", "lt", "lte")},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 2,
    }


def _operator(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": False}


_SCALAR = {"type": ["string", "number", "boolean", "null"]}
_CONDITIONS = [
    _SCALAR,
    _operator("in", {"type": "array", "items": _SCALAR, "maxItems": MAX_CONDITIONS}),
    _operator("prefix", {"type": "string", "minLength": 1}),
    _operator("exists", {"type": "boolean"}),
    _bounds("number"),
    _bounds("string"),
]
# the entries of `and`, `or` and `not` are filters again, which is left out: tools take minutes over a recursive schema
_PARTS = {"type": "array", "items": {"type": "object", "minProperties": 1}, "minItems": 1}
# the grammar of filters, for documentation; service/filters.py decides
_FILTER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "minProperties": 1,
    "properties": {"and": _PARTS, "or": _PARTS, "not": {"type": "object", "minProperties": 1}},
    "additionalProperties": {"anyOf": _CONDITIONS},
}

String = Annotated[str, AfterValidator(_well_formed)]
Text = Annotated[String, documented(minLength=1, pattern=TEXT_PATTERN, known_maxLength="max_text_chars")]
ModelName = Annotated[String, documented(known_enum="models")]
ModelChoiceName = Annotated[
    String,
    Field(description="A name that GET /v1/models lists, or `model@measure`; null is the default model."),
    documented(known_pattern="model_choice", examples=["minilm-words", "minilm@cosine"]),
]
Measure = Annotated[
    String,
    Field(description="One of the measures that GET /models lists.", examples=["rcmd"]),
    documented(known_enum="measures"),
]
# names of existing things: a malformed name is as unknown as any other
_OF_COLLECTION = documented(pattern=names.PATTERN, examples=["default"])
_OF_DOCUMENT = documented(minLength=1, maxLength=256, pattern=ID_PATTERN, examples=["shipping-001"])
NamedCollection = Annotated[String, _OF_COLLECTION]
NamedDocument = Annotated[String, _OF_DOCUMENT]
CollectionInPath = Annotated[str, _OF_COLLECTION, Path()]
ModelInPath = Annotated[str, documented(pattern="^.+$", examples=["minilm-words"]), Path()]
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
    WithJsonSchema(_FILTER_SCHEMA),
    Field(description="Conditions on metadata: see docs/search.md.", examples=[{"category": "shipping"}]),
]
VersionText = Annotated[
    Any, PlainValidator(_version), WithJsonSchema({"type": "string", "pattern": "^[^:]+:[0-9]{1,18}(:[^:]+)?$"})
]
Bounded = BeforeValidator(_bounded)
AtMostTexts = documented(known_maxItems="max_texts")


class StrictBody(BaseModel):
    """A body that is read strictly: unknown fields are refused, and "3" is no number."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, value: object) -> object:
        """Refuse very many fields before they are validated: each could be an error message."""
        if isinstance(value, Mapping) and len(value) > MAX_FIELDS:
            raise PydanticCustomError("unknown_field", "it has more than {most} fields", {"most": MAX_FIELDS})
        return value


def require_one_of(*names: str, otherwise: str) -> Any:
    """Validator of a body that needs one of these fields, with the message `otherwise`.

    It comes before all others, so that a body in another form is answered with the right one, not with its unknown
    fields.
    """

    def check(value: object) -> object:
        if isinstance(value, Mapping) and all(value.get(name) is None for name in names):
            raise PydanticCustomError("invalid_request", "{form}", {"form": otherwise})
        return value

    return model_validator(mode="before")(check)


class Usage(BaseModel):
    """Cost of a request."""

    tokens: int = Field(description="Tokens of all its texts, special tokens included.")
