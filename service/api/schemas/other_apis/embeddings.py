"""Bodies of /v1/embeddings: those of OpenAI, with a few additions."""

from __future__ import annotations

import base64
from typing import Annotated, Literal, TypeAlias

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError
from semblance_client.vocabulary.fields import (
    TEXT_PATTERN,
    Bounded,
    ModelName,
    RequestBody,
    String,
    Text,
    documented,
    keywords,
)
from semblance_client.vocabulary.responses import MAX_WARNINGS, TokenUsage, Warnings

from semblance.models.embeddings import Floats
from semblance.models.text import Role, Truncate
from semblance.service.usecases.embed import TextVectors

ModelChoiceName = Annotated[
    String,
    Field(description="A name that GET /v1/models lists, or `model@measure`; null is the default model."),
    documented(known_pattern="model_choice", examples=["minilm-words", "minilm@cosine"]),
]
EncodingFormat: TypeAlias = Literal["float", "base64"]

DOCUMENT_TYPES = ("document", "passage", "search_document", "retrieval.passage")  # Voyage, NVIDIA, Cohere, Jina


def role_of(input_type: str | None) -> Role:
    """The role of texts of a type, as the APIs of this field name types.

    >>> role_of("search_document"), role_of("search_query"), role_of("classification"), role_of(None)
    ('document', 'query', 'query', 'query')
    """
    return "document" if input_type in DOCUMENT_TYPES else "query"


def _listed(types: tuple[str, ...]) -> str:
    return ", ".join(f"`{each}`" for each in types)


_NO_TOKENS = (
    "token ids are not supported, as they are another model's; send texts "
    "(in LangChain: OpenAIEmbeddings(check_embedding_ctx_length=False))"
)


def _texts(value: object) -> object:
    """One text as a list of one; token ids are refused, as they may be another model's."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise PydanticCustomError("invalid_value", "it must be a string or a list of strings")
    if value and all(isinstance(entry, int | list) for entry in value):
        raise PydanticCustomError("token_arrays_not_supported", _NO_TOKENS)
    return value


_TEXT = keywords(type="string", minLength=1, pattern=TEXT_PATTERN, known_maxLength="max_text_chars")
_LIST = keywords(type="array", items=_TEXT, minItems=1, known_maxItems="max_texts")

Input = Annotated[
    list[Text], Field(min_length=1), Bounded, BeforeValidator(_texts), WithJsonSchema({"anyOf": [_TEXT, _LIST]})
]


class EmbeddingsRequest(RequestBody):
    """A text, or a list of texts. Fields that are not listed here, such as `user`, are ignored."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={
            "examples": [
                {"model": "minilm-words", "input": ["A man is playing a guitar.", "Someone plays an instrument."]},
                {"model": "minilm", "input": "A cat.", "encoding_format": "base64", "dimensions": 64},
            ]
        },
    )

    input: Input
    model: ModelName = Field(description="A served model, by its name in GET /models.")
    encoding_format: EncodingFormat | None = Field(
        "float", description="base64 holds little-endian float32; null is float."
    )
    dimensions: int | None = Field(
        None, ge=1, description="Keep only the first ones, scaled to unit length; null keeps all."
    )
    input_type: String | None = Field(
        None,
        description="Not OpenAI's: whether the texts are queries or documents, for models that read them differently. "
        f"Documents: {_listed(DOCUMENT_TYPES)}; anything else is a query. Also as `task` or `prompt_name`.",
    )
    task: String | None = Field(None, description="Not OpenAI's: `input_type`, as Jina's API names it.")
    prompt_name: String | None = Field(None, description="Not OpenAI's: `input_type`, as TEI names it.")
    truncate: Truncate = Field(
        "NONE", description="Not OpenAI's: the end at which a text that is too long is truncated; NONE refuses it."
    )

    @property
    def role(self) -> Role:
        """The role of the texts."""
        return role_of(self.input_type or self.task or self.prompt_name)


class EmbeddingOut(BaseModel):
    """The vector of one text, at unit length."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class EmbeddingsResponse(BaseModel):
    """Vectors in the order of the texts."""

    object: Literal["list"] = "list"
    data: list[EmbeddingOut]
    model: str
    usage: TokenUsage
    space: str = Field(description="Not OpenAI's: vectors are comparable only within the same space.")
    truncated: list[bool] = Field(description="Not OpenAI's: whether each text was truncated.")
    warnings: Warnings


def embeddings_json(result: TextVectors, format_: EncodingFormat) -> bytes:
    """An `EmbeddingsResponse` as JSON; each float32 in the fewest digits that identify it."""
    answer = {
        "object": "list",
        "data": [
            _embedding_json(i, base64_of(each) if format_ == "base64" else each)
            for i, each in enumerate(result.vectors)
        ],
        "model": result.encoder.name,
        "usage": {"prompt_tokens": result.tokens, "total_tokens": result.tokens},
        "space": result.encoder.space,
        "truncated": result.truncated,
        "warnings": [warning.model_dump() for warning in result.warnings[:MAX_WARNINGS]],
    }
    return orjson.dumps(answer)


def _embedding_json(index: int, embedding: Floats | str) -> orjson.Fragment:
    """An `EmbeddingOut`, serialized separately so that other threads run between two of many."""
    out = {"object": "embedding", "index": index, "embedding": embedding}
    return orjson.Fragment(orjson.dumps(out, option=orjson.OPT_SERIALIZE_NUMPY))


def base64_of(numbers: Floats) -> str:
    """Numbers as base64 of little-endian float32, row by row."""
    return base64.b64encode(numbers.astype("<f4").tobytes()).decode()
