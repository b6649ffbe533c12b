"""POST /v1/embeddings and Azure's path: vectors as OpenAI, Voyage, Jina and vLLM have them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, get_args

import orjson
from fastapi import APIRouter, Response
from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema
from semblance_client.vocabulary.described import Described
from semblance_client.vocabulary.fields import Bounded, ModelName, String
from semblance_client.vocabulary.responses import MAX_WARNINGS, TokenUsage, Warnings

from semblance.models.embeddings import Floats
from semblance.service.api.other_apis.encodings import (
    EmbeddingType,
    EncodingFormat,
    NumberType,
    base64_of,
    encoded,
    numbers_of,
)
from semblance.service.api.other_apis.texts import (
    DOCUMENT_TYPES,
    OnlyFalse,
    TextsIdsOrObjects,
    TruncateOrFlag,
    VllmTruncation,
    at_most_one,
    decoded_texts,
    end_if,
    one_as_list,
    openai_decoder,
    role_of,
)
from semblance.service.api.parameters import DeploymentInPath
from semblance.service.api.routing import JsonRoute, Use, json_answer, with_truncated
from semblance.service.model_loading.registry import LazyModels
from semblance.service.settings import Settings
from semblance.service.usecases.embed import Embed, TextVectors
from semblance.service.usecases.request_fields import require_at_most

router = APIRouter(tags=["compare"], route_class=JsonRoute)

_DOCUMENTS = ", ".join(f"`{name}`" for name in DOCUMENT_TYPES)


_ONE_TYPE = {"enum": [*get_args(EmbeddingType)]}
EmbeddingTypes: TypeAlias = Annotated[
    list[EmbeddingType],
    Field(min_length=1),
    Bounded,
    BeforeValidator(one_as_list),
    WithJsonSchema({"anyOf": [_ONE_TYPE, {"type": "array", "items": _ONE_TYPE, "minItems": 1}]}),
]


class DeploymentEmbeddingsRequest(VllmTruncation):
    """A text, or a list of texts. Fields that are not listed here, such as `user`, are ignored.

    A text may be a list of token ids of OpenAI's encoding `cl100k_base`, where the extra openai-tokens is installed.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"input": ["A man is playing a guitar.", "Someone plays an instrument."]}]}
    )

    input: TextsIdsOrObjects
    """One text or several."""
    encoding_format: EncodingFormat | None = "float"
    """base64 holds little-endian float32, or the bytes of `output_dtype`; null is float."""
    dimensions: int | None = Field(None, ge=0)
    """Keep only the first ones, scaled to unit length; null keeps all, as 0, which Infinity's client sends."""
    output_dimension: int | None = Field(None, ge=1)
    """Not OpenAI's: `dimensions`, as Voyage's API names it."""
    output_dtype: NumberType | None = None
    """Not OpenAI's but Voyage's: the type of the numbers; see docs/clients.md. Null is float."""
    embedding_type: EmbeddingTypes | None = None
    """Not OpenAI's but Jina's: the type of the numbers, or several. It replaces `encoding_format`."""
    encoding_type: EmbeddingTypes | None = None
    """Not OpenAI's: `embedding_type`, as LlamaIndex names it."""
    input_type: String | None = Field(
        None,
        description="Not OpenAI's: whether the texts are queries or documents, for models that read them differently. "
        f"Documents: {_DOCUMENTS}; anything else is a query. Also as `task` or `prompt_name`.",
    )
    task: String | None = None
    """Not OpenAI's: `input_type`, as Jina's API names it."""
    prompt_name: String | None = None
    """Not OpenAI's: `input_type`, as TEI names it."""
    truncate: TruncateOrFlag = None
    """Not OpenAI's: PASSAGES reads a text that is too long in passages, START and END truncate it, NONE rejects it.

    Jina's true is END, false NONE. Null is the service's default: PASSAGES, unless it is set up otherwise.
    """
    truncation: bool | None = None
    """Not OpenAI's: `truncate`, as Voyage's API names it."""
    normalized: bool | None = None
    """Not OpenAI's but Jina's: false returns the vectors as the model has them. vLLM names it `use_activation`."""
    use_activation: bool | None = None
    """The same, as vLLM names it."""
    late_chunking: OnlyFalse | None = None
    """Only false: texts are encoded by themselves."""
    return_multivector: OnlyFalse | None = None
    """Only false: a text has one vector."""
    embed_dtype: Literal["float32"] | None = None
    """Number type of encoded vectors: only float32."""
    endianness: Literal["native", "little"] | None = None
    """Byte order of encoded vectors: only little-endian."""

    _one_dimension = at_most_one("dimensions", "output_dimension")
    _one_type = at_most_one("output_dtype", "embedding_type", "encoding_type")
    _one_end = at_most_one("truncate", "truncation", "truncate_prompt_tokens")
    _one_length = at_most_one("normalized", "use_activation")

    def encode(self, vectors: Floats) -> list[Any]:
        """The `embedding` of each of (n, d) vectors."""
        if types := self.embedding_type or self.encoding_type:
            columns = [encoded(vectors, type_) for type_ in types]
            rows = zip(*columns, strict=True)
            return columns[0] if len(types) == 1 else [dict(zip(types, row, strict=True)) for row in rows]
        numbers = numbers_of(vectors, self.output_dtype or "float")
        return [*map(base64_of, numbers)] if self.encoding_format == "base64" else [*numbers]


class EmbeddingsRequest(DeploymentEmbeddingsRequest):
    """A text, or a list of texts. Fields that are not listed here, such as `user`, are ignored."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"model": "minilm-graded", "input": ["A man is playing a guitar.", "Someone plays an instrument."]},
                {"model": "minilm", "input": "A cat.", "encoding_format": "base64", "dimensions": 64},
                {"model": "minilm", "input": [{"text": "A cat."}], "embedding_type": ["float", "binary"]},
            ]
        },
    )

    model: ModelName | None = None
    """A served model, by its name in GET /models; null is the default model."""


class EncodedEmbedding(Described):
    """The vector of one text, at unit length unless the request says otherwise."""

    object: Literal["embedding"] = "embedding"
    """Kind of this object, as the other API names it."""
    index: int
    """Number of the text in the request, from 0."""
    embedding: list[float] | str | dict[EmbeddingType, list[float] | str] = Field(
        description="Numbers, or base64; an object by type if `embedding_type` has several."
    )


class EmbeddingsResponse(Described):
    """Vectors in the order of the texts."""

    object: Literal["list"] = "list"
    """Kind of this object, as the other API names it."""
    data: list[EncodedEmbedding]
    """A vector of each text, in the order of the request."""
    model: str
    """Name of the model."""
    usage: TokenUsage
    """What the request cost."""
    space: str = Field(description="Not OpenAI's: vectors are comparable only within the same space.")
    truncated: list[bool] = Field(description="Not OpenAI's: whether each text was truncated.")
    warnings: Warnings


@router.post("/v1/embeddings", summary="Embed texts, as OpenAI's API does", response_model=EmbeddingsResponse)
async def embed_texts(
    body: EmbeddingsRequest, embed: Use[Embed], models: Use[LazyModels], settings: Use[Settings]
) -> Response:
    """The vector of each text, at unit length."""
    return await _vectors(body, body.model, embed, models, settings)


@router.post(
    "/openai/deployments/{deployment}/embeddings",
    summary="Embed texts, as Azure OpenAI does",
    response_model=EmbeddingsResponse,
)
async def embed_as_azure(
    deployment: DeploymentInPath,
    body: DeploymentEmbeddingsRequest,
    embed: Use[Embed],
    models: Use[LazyModels],
    settings: Use[Settings],
) -> Response:
    """The vector of each text, at unit length, by the model in the path; `model` is ignored."""
    return await _vectors(body, deployment, embed, models, settings)


async def _vectors(
    body: DeploymentEmbeddingsRequest, model: str | None, embed: Embed, models: LazyModels, settings: Settings
) -> Response:
    encoder = await models.get(model)
    require_at_most("/output_dimension", body.output_dimension or 0, encoder.dim, "dimensions")
    result = await embed.vectors(
        await decoded_texts("input", body.input, settings.max_texts, openai_decoder),
        model=model,
        dimensions=body.dimensions or body.output_dimension,
        truncation=body.truncation_or(body.truncate or end_if(body.truncation, None)),
        role=role_of(body.input_type, body.task, body.prompt_name),
        normalize=body.normalized is not False and body.use_activation is not False,
    )
    answer = await json_answer(body.encoding_format or "float", result.vectors.size, lambda: _json(body, result))
    return with_truncated(answer, sum(result.truncated), result.passages)


def _json(body: DeploymentEmbeddingsRequest, result: TextVectors) -> bytes:
    """An `EmbeddingsResponse` as JSON; each float32 in the fewest digits that identify it."""
    answer = {
        "object": "list",
        "data": [_embedding_json(i, embedding) for i, embedding in enumerate(body.encode(result.vectors))],
        "model": result.encoder.name,
        "usage": TokenUsage(
            prompt_tokens=result.tokens, total_tokens=result.tokens, passages=result.passages
        ).model_dump(),
        "space": result.encoder.space,
        "truncated": result.truncated,
        "warnings": [warning.model_dump() for warning in result.warnings[:MAX_WARNINGS]],
    }
    return orjson.dumps(answer)


def _embedding_json(index: int, embedding: Any) -> orjson.Fragment:
    """An `EncodedEmbedding`, serialized alone so that other threads run between two of many."""
    out = {"object": "embedding", "index": index, "embedding": embedding}
    return orjson.Fragment(orjson.dumps(out, option=orjson.OPT_SERIALIZE_NUMPY))
