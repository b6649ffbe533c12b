"""POST /v1/embeddings: texts as vectors, for clients that speak OpenAI's API."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from semblance.service.api.answers import written
from semblance.service.api.direct_route import DirectRoute
from semblance.service.api.errors import codes_of
from semblance.service.api.limits import require_at_most
from semblance.service.api.openai_shape import ErrorAnswer, status_under_v1
from semblance.service.api.schemas.embeddings import EmbeddingsRequest, EmbeddingsResponse, embeddings_json
from semblance.service.api.services import Use
from semblance.service.usecases.embed_texts import Given
from semblance.service.usecases.vectors import VectorsFor

router = APIRouter(prefix="/v1", tags=["compare"], route_class=DirectRoute)


def _refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What the route documents that it may answer beside its success; the statuses are those of the problems."""
    described: dict[int, list[str]] = {}
    for status in sorted(statuses):
        described.setdefault(status_under_v1(status), []).extend(codes_of(status))
    return {
        status: {"model": ErrorAnswer, "description": ", ".join(f"`{code}`" for code in codes)}
        for status, codes in described.items()
    }


@router.post("/embeddings", response_model=EmbeddingsResponse, responses=_refusals(400, 404, 413, 415, 422, 429, 503))
async def embeddings(body: EmbeddingsRequest, use: Use) -> Response:
    """The vector of each text, at unit length."""
    require_at_most("/input", len(body.input), use.settings.max_texts, "texts")
    made = await use.vectors(
        VectorsFor(
            texts=[Given(text, f"/input/{i}") for i, text in enumerate(body.input)],
            model=body.model,
            dimensions=body.dimensions,
            truncate=body.truncate,
        )
    )
    format_ = body.encoding_format or "float"
    return await written(format_, made.vectors.size, lambda: embeddings_json(made, format_))
