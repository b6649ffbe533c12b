"""Bodies of /score and /pooling, as vLLM has them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError
from semblance_client.vocabulary.fields import (
    TEXT_PATTERN,
    AtMostTexts,
    Bounded,
    Measure,
    ModelName,
    RequestBody,
    Text,
    keywords,
    one_of,
    require_one_of,
)
from semblance_client.vocabulary.responses import Space, TokenUsage

from semblance.service.api.schemas.other_apis.embeddings import EncodingFormat, Input, ModelChoiceName
from semblance.service.usecases.collections import DEFAULT_MEASURE
from semblance.service.usecases.embed import InputText

_FORMS = 'give text_1 and text_2, such as {"text_1": "one text", "text_2": ["another"]}, or queries and documents'
SIDES = (("text_1", "text_2"), ("queries", "documents"), ("queries", "items"), ("data_1", "data_2"))


def _list(value: object) -> object:
    """One text as a list of one."""
    return [value] if isinstance(value, str) else value


_TEXT = keywords(type="string", minLength=1, pattern=TEXT_PATTERN, known_maxLength="max_text_chars")
_TEXTS = keywords(type="array", items=_TEXT, minItems=1, known_maxItems="max_texts")
_TEXT_OR_LIST = {"anyOf": [_TEXT, _TEXTS]}
ScoredTexts = Annotated[
    list[Text] | None,
    Field(min_length=1),
    Bounded,
    AtMostTexts,
    BeforeValidator(_list),
    WithJsonSchema({"anyOf": [_TEXT, _TEXTS, {"type": "null"}]}),
]


def _form(left: str, right: str) -> dict[str, Any]:
    """Schema of a body with these two fields, and none of the others."""
    others = {name for sides in SIDES for name in sides} - {left, right}
    return {
        "required": [left, right],
        "properties": {
            left: _TEXT_OR_LIST,
            right: _TEXT_OR_LIST,
            **{name: {"type": "null"} for name in sorted(others)},
        },
    }


class ScoreRequest(RequestBody):
    """Two sides of the same length, or one text and several. Other fields are ignored."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={
            "examples": [{"text_1": "A cat sleeps.", "text_2": ["The kitten naps.", "It rains."]}],
            "allOf": one_of(*(_form(*sides) for sides in SIDES)),
        },
    )

    text_1: ScoredTexts = None
    text_2: ScoredTexts = None
    queries: ScoredTexts = None
    documents: ScoredTexts = None
    items: ScoredTexts = None
    data_1: ScoredTexts = None
    data_2: ScoredTexts = None
    model: ModelChoiceName | None = None
    measure: Measure | None = Field(
        None, description=f"Not vLLM's: null is that of the model's name, or {DEFAULT_MEASURE}."
    )

    _known_form = require_one_of("text_1", "queries", "data_1", otherwise=_FORMS)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        given = {name for sides in SIDES for name in sides if getattr(self, name) is not None}
        if given not in [set(sides) for sides in SIDES]:
            raise PydanticCustomError("invalid_request", _FORMS)
        left, right = (getattr(self, name) for name in self._names)
        if len(left) not in (1, len(right)):
            raise PydanticCustomError("invalid_request", "give one text on the left, or as many as on the right")
        return self

    @property
    def _names(self) -> tuple[str, str]:
        return next(sides for sides in SIDES if all(getattr(self, name) is not None for name in sides))

    def inputs(self) -> tuple[list[InputText], list[InputText]]:
        """The texts of both sides, paired."""
        names = self._names
        left, right = (
            [InputText(text, f"/{name}/{i}") for i, text in enumerate(getattr(self, name))] for name in names
        )
        return (left * len(right) if len(left) == 1 else left), right


class ScoreOut(BaseModel):
    """The score of a pair."""

    index: int
    object: Literal["score"] = "score"
    score: float


class ScoreResponse(BaseModel):
    """Scores in the order of the pairs, by `measure` and not mapped."""

    id: str
    object: Literal["list"] = "list"
    created: int
    model: str
    measure: str = Field(description="Not vLLM's: the measure of the scores.")
    space: Space
    data: list[ScoreOut]
    usage: TokenUsage


class PoolingRequest(RequestBody):
    """A text, or a list of texts. Other fields are ignored."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={"examples": [{"model": "minilm-words", "input": "A cat.", "task": "token_embed"}]},
    )

    input: Input
    model: ModelName | None = None
    task: Literal["embed", "token_embed"] | None = Field(
        None, description="token_embed, the default, returns a vector of each token; embed one of each text."
    )
    encoding_format: EncodingFormat | None = Field(
        None, description="base64 holds little-endian float32, row by row; null is float."
    )


class PoolingOut(BaseModel):
    """The vectors of one text."""

    index: int
    object: Literal["pooling"] = "pooling"
    data: list[list[float]] | list[float] | str
    shape: list[int] = Field(
        description="Not vLLM's: number of vectors, if there may be several, and of their numbers."
    )


class PoolingResponse(BaseModel):
    """Vectors in the order of the texts."""

    id: str
    object: Literal["list"] = "list"
    created: int
    model: str
    space: Space
    data: list[PoolingOut]
    usage: TokenUsage
