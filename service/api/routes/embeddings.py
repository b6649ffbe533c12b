"""POST /v1/embeddings: texts as vectors, for clients of OpenAI's API."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from semblance.service.api.errors import codes_of
from semblance.service.api.openai_shape import ErrorAnswer, status_under_v1
from semblance.service.api.routing import JsonRoute, Use, json_answer, require_at_most
from semblance.service.api.schemas.embeddings import EmbeddingsRequest, EmbeddingsResponse, embeddings_json
from semblance.service.settings import Settings
from semblance.service.usecases.embed import Embed, InputText, VectorParams

router = APIRouter(prefix="/v1", tags=["compare"], route_class=JsonRoute)


def _refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Documentation of the refusals of this route, from the statuses of the problems."""
    described: dict[int, list[str]] = {}
    for status in sorted(statuses):
        described.setdefault(status_under_v1(status), []).extend(codes_of(status))
    return {
        status: {"model": ErrorAnswer, "description": ", ".join(f"`{code}`" for code in codes)}
        for status, codes in described.items()
    }


@router.post("/embeddings", response_model=EmbeddingsResponse, responses=_refusals(400, 404, 413, 415, 422, 429, 503))
async def embeddings(body: EmbeddingsRequest, embed: Use[Embed], settings: Use[Settings]) -> Response:
    """The vector of each text, at unit length."""
    require_at_most("/input", len(body.input), settings.max_texts, "texts")
    result = await embed(
        VectorParams(
            texts=[InputText(text, f"/input/{i}") for i, text in enumerate(body.input)],
            model=body.model,
            dimensions=body.dimensions,
            truncate=body.truncate,
        )
    )
    format_ = body.encoding_format or "float"
    return await json_answer(format_, result.vectors.size, lambda: embeddings_json(result, format_))
