"""POST /same: whether texts say the same, and the words that speak against it."""

from __future__ import annotations

from fastapi import APIRouter, Response
from semblance_client.vocabulary.same import SameRequest, Verdicts

from semblance.service.api.routing import JsonRoute, Use, json_answer
from semblance.service.usecases.paraphrases.same import Same

router = APIRouter(tags=["compare"], route_class=JsonRoute)


@router.post("/same", summary="Say whether texts are the same", response_model=Verdicts)
async def judge_texts(body: SameRequest, same: Use[Same]) -> Response:
    """Say of texts whether they say the same, and what speaks against it.

    Of pairs, or of one text and the documents of a collection that are nearest to it.
    """
    verdicts = await same.same(body)
    return await json_answer("verdicts", len(verdicts.verdicts), verdicts.model_dump_json)
