"""POST /rerank: documents of a request by relevance, for clients of several APIs."""

from __future__ import annotations

import uuid
from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, RootModel
from semblance_client.vocabulary.other_apis import Ranking

from semblance.service.api.routing import JsonRoute, Use, json_answer, with_truncated
from semblance.service.api.schemas.other_apis.rerank import RerankOrTeiRequest, RerankRequest
from semblance.service.api.schemas.other_apis.rerank_answers import (
    TeiRank,
    VoyageResponse,
    rerank_response,
    tei_ranks,
    voyage_response,
)
from semblance.service.settings import Settings
from semblance.service.usecases.embed import InputText
from semblance.service.usecases.request_fields import require_at_most
from semblance.service.usecases.rerank import Rerank, RerankParams

router = APIRouter(tags=["compare"], route_class=JsonRoute)


@router.post(
    "/rerank",
    summary="Order documents, for clients of many APIs",
    response_model=Ranking | VoyageResponse | list[TeiRank],
)
async def rerank_texts(body: RerankOrTeiRequest, rerank: Use[Rerank], settings: Use[Settings]) -> Response:
    """Order documents by their relevance to a query, best first."""
    return await _answer(body, rerank, settings, "2", voyage=body.is_voyage)


@router.post(
    "/v1/rerank",
    summary="Order documents, as Jina's API does",
    response_model=Ranking | VoyageResponse,
)
async def rerank_as_jina(body: RerankRequest, rerank: Use[Rerank], settings: Use[Settings]) -> Response:
    """Order documents by their relevance to a query, best first.

    Cohere's API v1 and Voyage's have the same path.
    """
    return await _answer(body, rerank, settings, "1", voyage=body.is_voyage)


@router.post(
    "/v2/rerank",
    summary="Order documents, as Cohere's API does",
    response_model=Ranking,
)
async def rerank_as_cohere(body: RerankRequest, rerank: Use[Rerank], settings: Use[Settings]) -> Response:
    """Order documents by their relevance to a query, best first."""
    return await _answer(body, rerank, settings, "2", voyage=False)


async def _answer(
    body: RerankRequest, rerank: Rerank, settings: Settings, version: Literal["1", "2"], *, voyage: bool
) -> Response:
    texts = body.inputs()
    tei = body if isinstance(body, RerankOrTeiRequest) and body.texts is not None else None
    require_at_most("/texts" if tei else "/documents", len(texts), settings.max_texts, "documents")
    spans, explain = body.spans, bool(body.explain)
    if spans or explain:
        explained = min(body.top or len(texts), len(texts))
        require_at_most("/top_n", explained, settings.max_explained, "explanations")
    found = await rerank(
        RerankParams(
            query=InputText(body.query, "/query"),
            documents=texts,
            model=body.model,
            measure=body.measure,
            top=body.top,
            truncate=body.end,
            spans=spans,
            explain=explain,
            min_probability=body.min_probability,
        )
    )

    def write() -> bytes:
        answer: BaseModel
        if tei:
            answer = RootModel[list[TeiRank]](tei_ranks(found, tei, texts))
        elif voyage:
            answer = voyage_response(found, body, texts)
        else:
            answer = rerank_response(found, body, texts, version, uuid.uuid4().hex)
        return answer.model_dump_json(exclude_none=True).encode()

    answer = await json_answer("explained ranks" if explain else "ranks", len(found.results), write)
    return with_truncated(answer, len(found.truncated))
