"""POST /v1/embeddings, and Azure's path: texts as vectors, for clients of OpenAI's API."""

from __future__ import annotations

from typing import Literal

import orjson
from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field
from semblance_client.vocabulary.fields import ModelName, String, TruncateField
from semblance_client.vocabulary.responses import MAX_WARNINGS, TokenUsage, Warnings

from semblance.models.embeddings import Floats
from semblance.service.api.other_apis.texts import (
    DOCUMENT_TYPES,
    EncodingFormat,
    LenientBody,
    TextsOrIds,
    TruncatePromptTokens,
    TruncationSide,
    base64_of,
    decoded_texts,
    openai_decoder,
    role_of,
    truncation,
)
from semblance.service.api.parameters import DeploymentInPath
from semblance.service.api.routing import JsonRoute, Use, json_answer, with_truncated
from semblance.service.settings import Settings
from semblance.service.usecases.embed import Embed, TextVectors

router = APIRouter(tags=["compare"], route_class=JsonRoute)

_DOCUMENTS = ", ".join(f"`{name}`" for name in DOCUMENT_TYPES)


class DeploymentEmbeddingsRequest(LenientBody):
    """A text, or a list of texts. Fields that are not listed here, such as `user`, are ignored.

    A text may be a list of token ids of OpenAI's encoding `cl100k_base`, where the extra openai-tokens is installed.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"input": ["A man is playing a guitar.", "Someone plays an instrument."]}]}
    )

    input: TextsOrIds
    encoding_format: EncodingFormat | None = "float"
    """base64 holds little-endian float32; null is float."""
    dimensions: int | None = Field(None, ge=1)
    """Keep only the first ones, scaled to unit length; null keeps all."""
    input_type: String | None = Field(
        None,
        description="Not OpenAI's: whether the texts are queries or documents, for models that read them differently. "
        f"Documents: {_DOCUMENTS}; anything else is a query. Also as `task` or `prompt_name`.",
    )
    task: String | None = None
    """Not OpenAI's: `input_type`, as Jina's API names it."""
    prompt_name: String | None = None
    """Not OpenAI's: `input_type`, as TEI names it."""
    truncate: TruncateField = None
    truncate_prompt_tokens: TruncatePromptTokens = None
    truncation_side: TruncationSide = None


class EmbeddingsRequest(DeploymentEmbeddingsRequest):
    """A text, or a list of texts. Fields that are not listed here, such as `user`, are ignored."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"model": "minilm-words", "input": ["A man is playing a guitar.", "Someone plays an instrument."]},
                {"model": "minilm", "input": "A cat.", "encoding_format": "base64", "dimensions": 64},
            ]
        },
    )

    model: ModelName
    """A served model, by its name in GET /models."""


class EncodedEmbedding(BaseModel):
    """The vector of one text, at unit length."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class EmbeddingsResponse(BaseModel):
    """Vectors in the order of the texts."""

    object: Literal["list"] = "list"
    data: list[EncodedEmbedding]
    model: str
    usage: TokenUsage
    space: str = Field(description="Not OpenAI's: vectors are comparable only within the same space.")
    truncated: list[bool] = Field(description="Not OpenAI's: whether each text was truncated.")
    warnings: Warnings


@router.post("/v1/embeddings", summary="Embed texts, as OpenAI's API does", response_model=EmbeddingsResponse)
async def embed_texts(body: EmbeddingsRequest, embed: Use[Embed], settings: Use[Settings]) -> Response:
    """The vector of each text, at unit length."""
    return await _vectors(body, body.model, embed, settings)


@router.post(
    "/openai/deployments/{deployment}/embeddings",
    summary="Embed texts, as Azure OpenAI does",
    response_model=EmbeddingsResponse,
)
async def embed_as_azure(
    deployment: DeploymentInPath, body: DeploymentEmbeddingsRequest, embed: Use[Embed], settings: Use[Settings]
) -> Response:
    """The vector of each text, at unit length, by the model in the path; `model` is ignored."""
    return await _vectors(body, deployment, embed, settings)


async def _vectors(body: DeploymentEmbeddingsRequest, model: str, embed: Embed, settings: Settings) -> Response:
    result = await embed.vectors(
        await decoded_texts("input", body.input, settings.max_texts, openai_decoder),
        model=model,
        dimensions=body.dimensions,
        truncation=truncation(body.truncate, body.truncate_prompt_tokens, body.truncation_side),
        role=role_of(body.input_type or body.task or body.prompt_name),
    )
    format_ = body.encoding_format or "float"
    answer = await json_answer(format_, result.vectors.size, lambda: _json(result, format_))
    return with_truncated(answer, sum(result.truncated), result.passages)


def _json(result: TextVectors, format_: EncodingFormat) -> bytes:
    """An `EmbeddingsResponse` as JSON; each float32 in the fewest digits that identify it."""
    answer = {
        "object": "list",
        "data": [
            _embedding_json(i, base64_of(vector) if format_ == "base64" else vector)
            for i, vector in enumerate(result.vectors)
        ],
        "model": result.encoder.name,
        "usage": TokenUsage(
            prompt_tokens=result.tokens, total_tokens=result.tokens, passages=result.passages
        ).model_dump(),
        "space": result.encoder.space,
        "truncated": result.truncated,
        "warnings": [warning.model_dump() for warning in result.warnings[:MAX_WARNINGS]],
    }
    return orjson.dumps(answer)


def _embedding_json(index: int, embedding: Floats | str) -> orjson.Fragment:
    """An `EncodedEmbedding`, serialized alone so that other threads run between two of many."""
    out = {"object": "embedding", "index": index, "embedding": embedding}
    return orjson.Fragment(orjson.dumps(out, option=orjson.OPT_SERIALIZE_NUMPY))
