"""Documents of a rerank request: strings, or objects of which some fields are read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, JsonValue, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError
from semblance_client.vocabulary.fields import Bounded, keywords

from semblance.service.api.other_apis.texts import STRING, one_as_list


def _document(value: object) -> object:
    if not isinstance(value, str | dict):
        raise PydanticCustomError("invalid_value", "it must be a string, or an object with the field text")
    return value


_DOCUMENT = {"anyOf": [STRING, {"type": "object", "additionalProperties": True}]}
LIST = keywords(type="array", items=_DOCUMENT, minItems=1, known_maxItems="max_texts")

Documents = Annotated[
    list[Annotated[Any, PlainValidator(_document)]],
    Field(min_length=1),
    Bounded,
    BeforeValidator(one_as_list),
    WithJsonSchema({"anyOf": [STRING, LIST]}),
]


def text_of_document(document: str | dict[str, JsonValue], fields: Sequence[str] | None) -> str | None:
    """The text of a document, if it has one: the fields as lines `field: value`, or `text`."""
    if isinstance(document, str):
        return document
    if fields is None:
        text = document.get("text")
        return text if isinstance(text, str) else None
    lines = [f"{name}: {_shown(document[name])}" for name in fields if name in document]
    return "\n".join(lines) if lines else None


def _shown(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
