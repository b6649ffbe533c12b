"""Fields that several APIs have: texts or lists of texts, roles, encodings of vectors."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema
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
from semblance.models.text import Role, Truncate
from semblance.service.usecases.embed import InputText, Truncation
from semblance.service.usecases.request_fields import require_at_most


def _no_zero(tokens: int | None) -> int | None:
    """A number of tokens to keep. Raises PydanticCustomError: it is 0."""
    if tokens == 0:
        raise PydanticCustomError("invalid_value", "no token would be left: give a positive number, or -1")
    return tokens


EncodingFormat: TypeAlias = Literal["float", "base64"]

MODEL_LIMIT = -1  # of `truncate_prompt_tokens`: as many tokens as the model reads
TruncatePromptTokens = Annotated[
    Annotated[int, Field(ge=MODEL_LIMIT)] | None,
    AfterValidator(_no_zero),
    Field(
        description="vLLM's: truncate each text to its last tokens, special ones included; -1 to what the model reads."
    ),
]
TruncationSide = Annotated[
    Literal["left", "right"] | None,
    Field(description="vLLM's: the side at which `truncate_prompt_tokens` removes tokens; null is left."),
]

DOCUMENT_TYPES = ("document", "passage", "search_document", "retrieval.passage")  # Voyage, NVIDIA, Cohere, Jina

_NO_TOKENS = (
    "token ids are not supported, as they are another model's; send texts "
    "(in LangChain: OpenAIEmbeddings(check_embedding_ctx_length=False))"
)


def one_as_list(value: object) -> object:
    """One text as a list of one."""
    return [value] if isinstance(value, str) else value


def strings(value: object) -> object:
    """One text or several as a list; token ids are rejected, as they may be another model's."""
    if not isinstance(value, str | list):
        raise PydanticCustomError("invalid_value", "it must be a string or a list of strings")
    if isinstance(value, list) and value and all(isinstance(entry, int | list) for entry in value):
        raise PydanticCustomError("token_arrays_not_supported", _NO_TOKENS)
    return one_as_list(value)


STRING = keywords(type="string", known_maxLength="max_text_chars")
TEXT = keywords(type="string", minLength=1, pattern=TEXT_PATTERN, known_maxLength="max_text_chars")
TEXT_LIST = keywords(type="array", items=TEXT, minItems=1, known_maxItems="max_texts")

Input = Annotated[
    list[Text], Field(min_length=1), Bounded, BeforeValidator(strings), WithJsonSchema({"anyOf": [TEXT, TEXT_LIST]})
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


def truncation(
    truncate: Truncate | None, prompt_tokens: int | None, side: Literal["left", "right"] | None
) -> Truncation:
    """The truncation of a request; vLLM's fields precede ours.

    >>> truncation("END", 8, None), truncation(None, -1, "right")
    (Truncation(mode='START', max_tokens=8), Truncation(mode='END', max_tokens=None))
    """
    if prompt_tokens is None:
        return Truncation(truncate)
    end: Truncate = "END" if side == "right" else "START"
    return Truncation(end, None if prompt_tokens == MODEL_LIMIT else prompt_tokens)


def base64_of(numbers: Floats) -> str:
    """Numbers as base64 of little-endian float32, row by row."""
    return base64.b64encode(numbers.astype("<f4").tobytes()).decode()
