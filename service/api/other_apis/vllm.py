"""POST /score and /pooling, as vLLM has them: scores of pairs, and vectors of tokens."""

from __future__ import annotations

import time
import uuid
from typing import Annotated, Any, Literal, Self

import orjson
from fastapi import APIRouter, Response
from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError
from semblance_client.vocabulary.described import Described
from semblance_client.vocabulary.fields import (
    AtMostTexts,
    Bounded,
    Measure,
    ModelName,
    Text,
    one_of,
    require_one_of,
)
from semblance_client.vocabulary.responses import Space, TokenUsage

from semblance.service.api.other_apis.encodings import EncodingFormat, base64_of
from semblance.service.api.other_apis.texts import (
    TEXT,
    TEXT_LIST,
    ModelChoiceName,
    TextsOrIds,
    VllmTruncation,
    decoded_texts,
    input_texts,
    one_as_list,
    own_decoder,
)
from semblance.service.api.routing import JsonRoute, Use, json_answer, with_truncated
from semblance.service.model_loading.registry import LazyModels
from semblance.service.settings import Settings
from semblance.service.usecases.collections import DEFAULT_MEASURE
from semblance.service.usecases.compare import Compare
from semblance.service.usecases.embed import Embed, TextVectors, TokenVectors
from semblance.service.usecases.request_fields import require_at_most
from semblance.service.usecases.text_embedder import InputText

router = APIRouter(tags=["compare"], route_class=JsonRoute)

_FORMS = 'give text_1 and text_2, such as {"text_1": "one text", "text_2": ["another"]}, or queries and documents'
SIDES = (("text_1", "text_2"), ("queries", "documents"), ("queries", "items"), ("data_1", "data_2"))

ScoredTexts = Annotated[
    list[Text] | None,
    Field(min_length=1),
    Bounded,
    AtMostTexts,
    BeforeValidator(one_as_list),
    WithJsonSchema({"anyOf": [TEXT, TEXT_LIST, {"type": "null"}]}),
]


def _form(*given: str) -> dict[str, Any]:
    """Schema of a body with these two fields, and none of the others."""
    others = {name for sides in SIDES for name in sides}.difference(given)
    texts = {"anyOf": [TEXT, TEXT_LIST]}
    properties = dict.fromkeys(given, texts) | {name: {"type": "null"} for name in sorted(others)}
    return {"required": list(given), "properties": properties}


class ScoreRequest(VllmTruncation):
    """Two sides of the same length, or one text and several. Other fields are ignored."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"text_1": "A cat sleeps.", "text_2": ["The kitten naps.", "It rains."]}],
            "allOf": one_of(*(_form(*sides) for sides in SIDES)),
        },
    )

    text_1: ScoredTexts = None
    """First texts of the pairs: one or several."""
    text_2: ScoredTexts = None
    """Second texts of the pairs: one or several."""
    queries: ScoredTexts = None
    """First texts of the pairs: one or several."""
    documents: ScoredTexts = None
    """Second texts of the pairs: one for each first one, or of one first text all."""
    items: ScoredTexts = None
    """Second texts of the pairs, by another name."""
    data_1: ScoredTexts = None
    """First texts of the pairs: one or several."""
    data_2: ScoredTexts = None
    """Second texts of the pairs: one or several."""
    model: ModelChoiceName | None = None
    """Name of the model."""
    measure: Measure | None = Field(
        None, description=f"Not vLLM's: null is that of the model's name, or {DEFAULT_MEASURE}."
    )

    _known_form = require_one_of("text_1", "queries", "data_1", otherwise=_FORMS)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        given = {name for sides in SIDES for name in sides if getattr(self, name) is not None}
        if given not in [set(sides) for sides in SIDES]:
            raise PydanticCustomError("invalid_request", _FORMS)
        left, right = (getattr(self, name) for name in self.names)
        if len(left) not in (1, len(right)):
            raise PydanticCustomError("invalid_request", "give one text on the left, or as many as on the right")
        return self

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two fields that are given."""
        return next(sides for sides in SIDES if all(getattr(self, name) is not None for name in sides))

    def inputs(self, most: int) -> tuple[list[InputText], list[InputText]]:
        """The texts of both sides, paired. Raises InvalidRequest: they are more than `most`."""
        require_at_most(f"/{self.names[1]}", len(getattr(self, self.names[1])), most, "pairs")
        left, right = (input_texts(name, getattr(self, name), most) for name in self.names)
        return (left * len(right) if len(left) == 1 else left), right


class PairScore(Described):
    """The score of a pair."""

    index: int
    """Number of the pair, from 0."""
    object: Literal["score"] = "score"
    """Kind of this object, as the other API names it."""
    score: float
    """Similarity by the measure."""


class ScoreResponse(Described):
    """Scores in the order of the pairs, by `measure` and not mapped."""

    id: str
    """Id of the request."""
    object: Literal["list"] = "list"
    """Kind of this object, as the other API names it."""
    created: int
    """Seconds since 1970."""
    model: str
    """Name of the model."""
    measure: str = Field(description="Not vLLM's: the measure of the scores.")
    space: Space
    data: list[PairScore]
    """A score of each pair."""
    usage: TokenUsage
    """What the request cost."""


class PoolingRequest(VllmTruncation):
    """A text, or a list of texts, or of token ids of the model. Other fields are ignored."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"model": "minilm-graded", "input": "A cat.", "task": "token_embed"}]},
    )

    input: TextsOrIds
    """One text or several."""
    model: ModelName | None = None
    """Name of the model."""
    task: Literal["embed", "token_embed"] | None = None
    """token_embed, the default, returns a vector of each token; embed one of each text."""
    encoding_format: EncodingFormat | None = None
    """base64 holds little-endian float32, row by row; null is float."""
    dimensions: int | None = Field(None, ge=1)
    """Keep only the first ones; only with the task embed."""
    use_activation: bool | None = None
    """Whether vectors have unit length; by default those of texts do, and those of tokens are as the model has them."""
    embed_dtype: Literal["float32"] | None = None
    """Number type of encoded vectors: only float32."""
    endianness: Literal["native", "little"] | None = None
    """Byte order of encoded vectors: only little-endian."""

    @model_validator(mode="after")
    def _dimensions_of_texts(self) -> Self:
        if self.dimensions is not None and self.task != "embed":
            raise PydanticCustomError("invalid_request", "dimensions needs the task embed")
        return self


class PooledText(Described):
    """The vectors of one text."""

    index: int
    """Place in the request, from 0."""
    object: Literal["pooling"] = "pooling"
    """Kind of this object, as the other API names it."""
    data: list[list[float]] | list[float] | str
    """Vectors of the tokens, or the vector of the text, as numbers or base64."""
    shape: list[int] = Field(
        description="Not vLLM's: number of vectors, if there may be several, and of their numbers."
    )


class PoolingResponse(Described):
    """Vectors in the order of the texts."""

    id: str
    """Id of the request."""
    object: Literal["list"] = "list"
    """Kind of this object, as the other API names it."""
    created: int
    """Seconds since 1970."""
    model: str
    """Name of the model."""
    space: Space
    data: list[PooledText]
    """The vectors of each text, in the order of the request."""
    usage: TokenUsage
    """What the request cost."""


@router.post("/score", summary="Score pairs, as vLLM does", response_model=ScoreResponse)
async def score_pairs(
    body: ScoreRequest, compare: Use[Compare], models: Use[LazyModels], settings: Use[Settings]
) -> Response:
    """Score each pair of two sides, or one text with several."""
    return await _score(body, compare, models, settings)


@router.post("/v1/score", summary="Score pairs, as vLLM's v1 does", response_model=ScoreResponse)
async def score_under_version(
    body: ScoreRequest, compare: Use[Compare], models: Use[LazyModels], settings: Use[Settings]
) -> Response:
    """Score each pair of two sides, or one text with several."""
    return await _score(body, compare, models, settings)


async def _score(body: ScoreRequest, compare: Compare, models: LazyModels, settings: Settings) -> Response:
    left, right = body.inputs(settings.max_texts)
    choice = models.resolve(body.model)
    measure = body.measure or choice.measure or DEFAULT_MEASURE
    truncation = body.truncation_or("END")
    result = await compare.pairs(left, right, measure=measure, model=choice.model, truncation=truncation)

    def write() -> str:
        return ScoreResponse(
            id=uuid.uuid4().hex,
            created=int(time.time()),
            model=result.encoder.name,
            measure=measure,
            space=result.encoder.space,
            data=[PairScore(index=i, score=score) for i, score in enumerate(result.scores)],
            usage=TokenUsage(prompt_tokens=result.tokens, total_tokens=result.tokens),
        ).model_dump_json()

    return with_truncated(await json_answer("pairs", len(right), write), sum(result.truncated))


@router.post("/pooling", summary="Embed tokens or texts, as vLLM does", response_model=PoolingResponse)
async def pool_texts(
    body: PoolingRequest, embed: Use[Embed], models: Use[LazyModels], settings: Use[Settings]
) -> Response:
    """The vector of each token, special tokens included, or of each text."""
    texts = await decoded_texts(
        "input", body.input, settings.max_texts, lambda: own_decoder(models, "input", body.model)
    )
    model, truncation = body.model, body.truncation_or("END")
    result: TextVectors | TokenVectors
    if body.task == "embed":
        normalize = body.use_activation is not False
        result = await embed.vectors(
            texts, model=model, dimensions=body.dimensions, truncation=truncation, normalize=normalize
        )
    else:
        normalize = bool(body.use_activation)
        result = await embed.token_vectors(texts, model=model, truncation=truncation, normalize=normalize)
    format_ = body.encoding_format or "float"
    numbers = result.tokens * result.encoder.dim
    answer = await json_answer(format_, numbers, lambda: _pooling_json(result, format_))
    return with_truncated(answer, sum(result.truncated))


def _pooling_json(result: TextVectors | TokenVectors, format_: EncodingFormat) -> bytes:
    """A `PoolingResponse` as JSON."""
    answer = {
        "id": uuid.uuid4().hex,
        "object": "list",
        "created": int(time.time()),
        "model": result.encoder.name,
        "space": result.encoder.space,
        "data": [
            {
                "index": i,
                "object": "pooling",
                "data": vectors if format_ == "float" else base64_of(vectors),
                "shape": list(vectors.shape),
            }
            for i, vectors in enumerate(result.vectors)
        ],
        "usage": {"prompt_tokens": result.tokens, "total_tokens": result.tokens},
    }
    return orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)
