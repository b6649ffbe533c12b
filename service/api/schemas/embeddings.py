"""The bodies of /v1/embeddings: OpenAI's shape, and what little it lacks."""

from __future__ import annotations

import base64
from typing import Annotated, Literal, TypeAlias

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from semblance.models.embeddings import Floats
from semblance.models.text import Truncate
from semblance.service.api.schemas.request import Request
from semblance.service.api.text_types import TEXT_PATTERN, Bounded, ModelName, Text, keywords
from semblance.service.usecases.vectors import TextVectors

EncodingFormat: TypeAlias = Literal["float", "base64"]


def _texts(given: object) -> object:
    """One text as a list of one; the numbers of a tokeniser are refused, since they may be another model's."""
    if isinstance(given, str):
        return [given]
    if isinstance(given, list) and given and all(isinstance(entry, int | list) for entry in given):
        raise PydanticCustomError("token_arrays_not_supported", "send texts: numbers of tokens are not taken")
    return given


_TEXT = keywords(type="string", minLength=1, pattern=TEXT_PATTERN, known_maxLength="max_text_chars")
_LIST = keywords(type="array", items=_TEXT, minItems=1, known_maxItems="max_texts")

Input = Annotated[
    list[Text], Field(min_length=1), Bounded, BeforeValidator(_texts), WithJsonSchema({"anyOf": [_TEXT, _LIST]})
]


class EmbeddingsRequest(Request):
    """A text, or a list of texts. Fields that are not listed here, such as `user`, are ignored."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={
            "examples": [
                {"model": "minilm-clrcmd", "input": ["A man is playing a guitar.", "Someone plays an instrument."]},
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
        None, ge=1, description="Keep the first ones only, at unit length again; null keeps all."
    )
    truncate: Truncate = Field(
        "NONE", description="Not OpenAI's: which end of a text too long gives way; NONE refuses it."
    )


class EmbeddingOut(BaseModel):
    """The vector of one text, at unit length."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class TokenUsage(BaseModel):
    """What a request cost."""

    prompt_tokens: int = Field(description="Tokens of all its texts, special tokens included.")
    total_tokens: int = Field(description="The same: nothing is generated.")


class EmbeddingsResponse(BaseModel):
    """Vectors in the order of the texts."""

    object: Literal["list"] = "list"
    data: list[EmbeddingOut]
    model: str
    usage: TokenUsage
    space: str = Field(description="Not OpenAI's: vectors compare with those of the same space only.")
    truncated: list[bool] = Field(description="Not OpenAI's: whether each text was cut.")


def embeddings_json(made: TextVectors, format_: EncodingFormat) -> bytes:
    """An `EmbeddingsResponse` as JSON; each float32 in the fewest digits that tell it from the others."""
    answer = {
        "object": "list",
        "data": [
            _embedding_json(i, _base64(each) if format_ == "base64" else each) for i, each in enumerate(made.vectors)
        ],
        "model": made.encoder.name,
        "usage": {"prompt_tokens": made.tokens, "total_tokens": made.tokens},
        "space": made.encoder.space,
        "truncated": made.truncated,
    }
    return orjson.dumps(answer)


def _embedding_json(index: int, embedding: Floats | str) -> orjson.Fragment:
    """An `EmbeddingOut`, written by itself: others may go on between two of many."""
    out = {"object": "embedding", "index": index, "embedding": embedding}
    return orjson.Fragment(orjson.dumps(out, option=orjson.OPT_SERIALIZE_NUMPY))


def _base64(vector: Floats) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()
