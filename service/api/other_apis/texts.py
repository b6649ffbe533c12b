"""Fields that several APIs have: texts or lists of texts, roles, encodings of vectors."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError
from semblance_client.vocabulary.fields import (
    TEXT_PATTERN,
    Bounded,
    RequestBody,
    String,
    Text,
    documented,
    keywords,
)

from semblance.models.embeddings import Floats
from semblance.models.text import Role
from semblance.service.usecases.embed import InputText
from semblance.service.usecases.request_fields import require_at_most

EncodingFormat: TypeAlias = Literal["float", "base64"]

DOCUMENT_TYPES = ("document", "passage", "search_document", "retrieval.passage")  # Voyage, NVIDIA, Cohere, Jina

_NO_TOKENS = (
    "token ids are not supported, as they are another model's; send texts "
    "(in LangChain: OpenAIEmbeddings(check_embedding_ctx_length=False))"
)


def one_as_list(value: object) -> object:
    """One text as a list of one."""
    return [value] if isinstance(value, str) else value


def _texts(value: object) -> object:
    """A list of texts; token ids are rejected, as they may be another model's."""
    if not isinstance(value, str | list):
        raise PydanticCustomError("invalid_value", "it must be a string or a list of strings")
    if isinstance(value, list) and value and all(isinstance(entry, int | list) for entry in value):
        raise PydanticCustomError("token_arrays_not_supported", _NO_TOKENS)
    return one_as_list(value)


STRING = keywords(type="string", known_maxLength="max_text_chars")
TEXT = keywords(type="string", minLength=1, pattern=TEXT_PATTERN, known_maxLength="max_text_chars")
TEXT_LIST = keywords(type="array", items=TEXT, minItems=1, known_maxItems="max_texts")

Input = Annotated[
    list[Text], Field(min_length=1), Bounded, BeforeValidator(_texts), WithJsonSchema({"anyOf": [TEXT, TEXT_LIST]})
]
ModelChoiceName = Annotated[
    String,
    Field(description="A name that GET /v1/models lists, or `model@measure`; null is the default model."),
    documented(known_pattern="model_choice", examples=["minilm-words", "minilm@cosine"]),
]


class LenientBody(RequestBody):
    """A request body of another API. Fields that it does not list, such as `user`, are ignored."""

    model_config = ConfigDict(extra="ignore")


def input_texts(field: str, texts: Sequence[str], most: int) -> list[InputText]:
    """The texts of a field of a request. Raises InvalidRequest: they are more than `most`."""
    require_at_most(f"/{field}", len(texts), most, "texts")
    return [InputText(text, f"/{field}/{i}") for i, text in enumerate(texts)]


def role_of(input_type: str | None) -> Role:
    """The role of texts of a type, as the APIs of this field name types.

    >>> role_of("search_document"), role_of("search_query"), role_of("classification"), role_of(None)
    ('document', 'query', 'query', 'query')
    """
    return "document" if input_type in DOCUMENT_TYPES else "query"


def base64_of(numbers: Floats) -> str:
    """Numbers as base64 of little-endian float32, row by row."""
    return base64.b64encode(numbers.astype("<f4").tobytes()).decode()
