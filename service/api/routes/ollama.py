"""POST /api/embed: texts as vectors, as Ollama has it."""

from __future__ import annotations

import time

from fastapi import APIRouter, Response

from semblance.service.api.routing import JsonRoute, Use, json_answer, with_truncated
from semblance.service.api.schemas.other_apis.tei import OllamaEmbedRequest, OllamaEmbedResponse
from semblance.service.settings import Settings
from semblance.service.usecases.embed import Embed, InputText, VectorParams
from semblance.service.usecases.request_fields import require_at_most

router = APIRouter(tags=["compare"], route_class=JsonRoute)


@router.post(
    "/api/embed",
    summary="Embed texts, as Ollama does",
    response_model=OllamaEmbedResponse,
)
async def embed_as_ollama(body: OllamaEmbedRequest, embed: Use[Embed], settings: Use[Settings]) -> Response:
    """The vector of each text, at unit length."""
    require_at_most("/input", len(body.input), settings.max_texts, "texts")
    began = time.perf_counter_ns()
    result = await embed(
        VectorParams(
            texts=[InputText(text, f"/input/{i}") for i, text in enumerate(body.input)],
            model=body.model,
            dimensions=body.dimensions,
            truncate="NONE" if body.truncate is False else "END",
        )
    )

    def write() -> str:
        answer = OllamaEmbedResponse(
            model=result.encoder.name,
            embeddings=result.vectors.tolist(),
            total_duration=time.perf_counter_ns() - began,
            load_duration=0,
            prompt_eval_count=result.tokens,
        )
        return answer.model_dump_json()

    return with_truncated(await json_answer("float", result.vectors.size, write), sum(result.truncated))
