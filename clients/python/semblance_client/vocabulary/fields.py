"""Field types and base class of request bodies; bad values are rejected here."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from semblance_client.vocabulary.described import Described

MAX_ENTRIES = 10_000  # of a list in a request, whatever the settings
MAX_FIELDS = 100  # of an object in a request, metadata excepted
MAX_METADATA_DEPTH = 8
MAX_METADATA_CHARS = 65_536  # of one document, as JSON
MAX_CONDITIONS = 256  # of a filter
NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,63}$"  # of collections, served models and API keys
# what JSON schema can say of strings; more is rejected, such as a text of zero-width characters only
TEXT_PATTERN = r"^[^\x00]*[^\s\x00][^\x00]*$"
ID_PATTERN = r"^[^\x00-\x1f\x7f-\x9f]+$"
CURSOR_PATTERN = r"^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-]{2}==|[A-Za-z0-9_-]{3}=)?$"
VERSION_PATTERN = "^[^:]+:[0-9]{1,18}(:[^:]+)?$"

Truncate: TypeAlias = Literal["PASSAGES", "START", "END", "NONE"]
TruncateField: TypeAlias = Annotated[
    Truncate | None,
    Field(
        description="For a text that is longer than the model reads: PASSAGES reads it in passages, START and END "
        "truncate it at that end, and NONE rejects it. Null is the service's default: PASSAGES, unless it is set up "
        "otherwise.",
    ),
]
Scalar: TypeAlias = str | int | float | bool | None


def metadata_too_large(metadata: Mapping[str, Any]) -> bool:
    """Whether metadata exceed what one document may have."""
    return len(json.dumps(dict(metadata))) > MAX_METADATA_CHARS


def keywords(**values: Any) -> dict[str, Any]:
    """Keywords of JSON schema; those with `known_` name a value that the service fills in.

    `known_maximum="max_k"` becomes `maximum` with the value of `max_k`.

    >>> keywords(minimum=1, known_maximum="max_k")
    {'minimum': 1, 'known-maximum': 'max_k'}
    """
    return {name.replace("known_", "known-"): value for name, value in values.items()}


def documented(**values: Any) -> Any:
    """Keywords for the OpenAPI document only; the service checks more exactly."""
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


def _well_formed(text: str) -> str:
    """Reject lone surrogates, which are not characters, and NUL, which databases reject."""
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
    _require_storable(metadata, "", depth=1)
    if metadata_too_large(metadata):
        raise PydanticCustomError("metadata_too_large", f"as JSON it has more than {MAX_METADATA_CHARS:,} characters")
    return metadata


def _storable_answer(answer: JsonValue) -> JsonValue:
    _require_storable(answer, "", depth=3)  # in an object of the metadata
    return answer


def _require_storable(value: JsonValue, place: str, depth: int) -> None:
    if depth > MAX_METADATA_DEPTH:
        raise PydanticCustomError("metadata_too_deep", f"it is nested more than {MAX_METADATA_DEPTH} deep")
    match value:
        case str():
            _well_formed(value)
        case float() if not math.isfinite(value):
            detail = "{place}: NaN and infinity cannot be stored or compared"
            raise PydanticCustomError("not_finite", detail, {"place": place[1:]})
        case list():
            for i, entry in enumerate(value):
                _require_storable(entry, f"{place}/{i}", depth + 1)
        case dict():
            for key, entry in value.items():
                _well_formed(key)
                _require_storable(entry, f"{place}/{key}", depth + 1)


def _bounded(value: object) -> object:
    """Reject an overlong list before its entries are validated: each could be an error message."""
    if isinstance(value, list) and len(value) > MAX_ENTRIES:
        raise PydanticCustomError("out_of_range", "it has more than {most} entries", {"most": MAX_ENTRIES})
    return value


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


def _filter_of(part: Mapping[str, Any], description: str) -> dict[str, Any]:
    """Schema of a filter whose parts have the schema `part`."""
    parts = {"type": "array", "items": part, "minItems": 1}
    return {
        "type": "object",
        "description": description,
        "minProperties": 1,
        "properties": {
            "and": {"description": "Filters that all match.", **parts},
            "or": {"description": "Filters of which at least one matches.", **parts},
            "not": {"description": "A filter that does not match.", **part},
        },
        "additionalProperties": {"anyOf": _CONDITIONS},
    }


_COMPONENT = "#/components/schemas/"
# parts of a part are filters again, which is left out: tools take minutes over a recursive schema
FILTER_SCHEMAS: Mapping[str, Any] = {
    "Filter": _filter_of({"$ref": _COMPONENT + "FilterPart"}, "Conditions on metadata: see docs/search.md."),
    "FilterPart": _filter_of(
        {"type": "object", "minProperties": 1, "additionalProperties": True},
        "Conditions on metadata, as in Filter; so are the parts of `and`, `or` and `not`.",
    ),
}
"""Components of the OpenAPI document, to which `FilterObject` refers."""

String = Annotated[str, AfterValidator(_well_formed)]
Text = Annotated[String, documented(minLength=1, pattern=TEXT_PATTERN, known_maxLength="max_text_chars")]
ModelName = Annotated[String, documented(known_enum="models")]
RerankModel = Annotated[String, documented(known_pattern="rerank_model")]
Measure = Annotated[
    String,
    Field(description="One of the measures that GET /models lists.", examples=["rcmd"]),
    documented(known_enum="measures"),
]
# names of existing things: a malformed name is as unknown as any other
NamedCollection = Annotated[String, documented(pattern=NAME_PATTERN, examples=["default"])]
NamedDocument = Annotated[String, documented(minLength=1, maxLength=256, pattern=ID_PATTERN, examples=["shipping-001"])]
DocumentId = Annotated[
    str,
    Field(min_length=1, max_length=256),
    documented(pattern=ID_PATTERN),
    AfterValidator(_well_formed),
    AfterValidator(_printable),
]
FieldName = Annotated[String, Field(min_length=1, max_length=256)]
CachedAnswer = Annotated[JsonValue, AfterValidator(_storable_answer)]
MetadataObject = Annotated[dict[str, JsonValue], AfterValidator(_storable)]
MinProbability: TypeAlias = Annotated[
    float | None,
    Field(ge=0, le=1, allow_inf_nan=False, description="Least probability; needs a calibration of the measure."),
]
# the service parses filters and versions: any value gets here
FilterObject: TypeAlias = Annotated[
    Any,
    Field(
        description="Conditions on metadata: see docs/search.md.",
        examples=[{"category": "shipping"}],
        json_schema_extra={"anyOf": [{"$ref": _COMPONENT + "Filter"}, {"type": "null"}]},
    ),
]
VersionText: TypeAlias = Annotated[
    Any,
    Field(json_schema_extra={"anyOf": [{"type": "string", "pattern": VERSION_PATTERN}, {"type": "null"}]}),
]
Cursor = Annotated[str, documented(pattern=CURSOR_PATTERN)]
Bounded = BeforeValidator(_bounded)
AtMostTexts = documented(known_maxItems="max_texts")
AtMostDocuments = documented(known_maxItems="max_documents")


class RequestBody(Described):
    """A request body, read strictly: unknown fields are rejected, and "3" is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _object_of_few_fields(cls, value: object) -> object:
        """Reject very many fields before they are validated: each could be an error message."""
        if isinstance(value, Mapping) and len(value) > MAX_FIELDS:
            raise PydanticCustomError("unknown_field", "it has more than {most} fields", {"most": MAX_FIELDS})
        if not isinstance(value, Mapping | cls):
            required = [f'"{name}": ...' for name, field in cls.model_fields.items() if field.is_required()]
            form = {"form": "{" + (", ".join(required) or "...") + "}"}
            raise PydanticCustomError("invalid_value", "it must be an object, such as {form}", form)
        return value


class Pair(RequestBody):
    """Two texts to compare."""

    a: Text
    """The first text."""
    b: Text
    """The second text."""


def require_one_of(*names: str, otherwise: str) -> Any:
    """Validator of a body that needs one of these fields, with the message `otherwise`.

    It comes before all others, so that a body in another form gets the right error, not with its unknown
    fields.
    """

    def check(value: object) -> object:
        if isinstance(value, Mapping) and all(value.get(name) is None for name in names):
            raise PydanticCustomError("invalid_request", "{form}", {"form": otherwise})
        return value

    return model_validator(mode="before")(check)
