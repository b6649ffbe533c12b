"""POST /v1/embeddings: texts as vectors, for clients of OpenAI's API."""

from __future__ import annotations

from fastapi import APIRouter, Response

from semblance.service.api.routing import JsonRoute, Use, json_answer
from semblance.service.api.schemas.other_apis.embeddings import EmbeddingsRequest, EmbeddingsResponse, embeddings_json
from semblance.service.settings import Settings
from semblance.service.usecases.embed import Embed, InputText, VectorParams
from semblance.service.usecases.request_fields import require_at_most

router = APIRouter(prefix="/v1", tags=["compare"], route_class=JsonRoute)


@router.post(
    "/embeddings",
    summary="Embed texts, as OpenAI's API does",
    response_model=EmbeddingsResponse,
)
async def embed_texts(body: EmbeddingsRequest, embed: Use[Embed], settings: Use[Settings]) -> Response:
    """The vector of each text, at unit length."""
    require_at_most("/input", len(body.input), settings.max_texts, "texts")
    result = await embed(
        VectorParams(
            texts=[InputText(text, f"/input/{i}") for i, text in enumerate(body.input)],
            model=body.model,
            dimensions=body.dimensions,
            truncate=body.truncate,
            role=body.role,
        )
    )
    format_ = body.encoding_format or "float"
    return await json_answer(format_, result.vectors.size, lambda: embeddings_json(result, format_))
