"""POST /api/embed: texts as vectors, as Ollama has it."""

from __future__ import annotations

import time

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field
from semblance_client.vocabulary.fields import ModelName

from semblance.service.api.other_apis.texts import Input, LenientBody, input_texts
from semblance.service.api.routing import JsonRoute, Use, json_answer, with_truncated
from semblance.service.settings import Settings
from semblance.service.usecases.embed import Embed, Truncation

router = APIRouter(tags=["compare"], route_class=JsonRoute)


class OllamaEmbedRequest(LenientBody):
    """Texts to embed, as Ollama's API has them. Fields that are not listed are ignored."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"model": "minilm", "input": ["A cat.", "A dog."]}]})

    model: ModelName
    input: Input
    truncate: bool | None = None
    """False rejects longer texts; by default they are truncated."""
    dimensions: int | None = Field(None, ge=1)
    """Keep only the first ones."""


class OllamaEmbedResponse(BaseModel):
    """Vectors at unit length; times are in nanoseconds."""

    model: str
    embeddings: list[list[float]]
    total_duration: int
    load_duration: int
    prompt_eval_count: int


@router.post("/api/embed", summary="Embed texts, as Ollama does", response_model=OllamaEmbedResponse)
async def embed_as_ollama(body: OllamaEmbedRequest, embed: Use[Embed], settings: Use[Settings]) -> Response:
    """The vector of each text, at unit length."""
    began = time.perf_counter_ns()
    result = await embed.vectors(
        input_texts("input", body.input, settings.max_texts),
        model=body.model,
        dimensions=body.dimensions,
        truncation=Truncation("NONE" if body.truncate is False else "END"),
    )

    def write() -> str:
        return OllamaEmbedResponse(
            model=result.encoder.name,
            embeddings=result.vectors.tolist(),
            total_duration=time.perf_counter_ns() - began,
            load_duration=0,
            prompt_eval_count=result.tokens,
        ).model_dump_json()

    return with_truncated(await json_answer("float", result.vectors.size, write), sum(result.truncated))
