"""POST /similarity: scores of pairs of texts, or of a matrix."""

from __future__ import annotations

from fastapi import APIRouter, Response
from semblance_client.vocabulary.similarity import Similarities, SimilarityMatrix

from semblance.service.api.other_apis.tei import SimilarityOrTeiRequest, compare_as_tei
from semblance.service.api.routing import JsonRoute, Use, json_answer, with_truncated
from semblance.service.settings import Settings
from semblance.service.usecases.compare import Compare

router = APIRouter(tags=["compare"], route_class=JsonRoute)


@router.post("/similarity", summary="Compare texts", response_model=Similarities | SimilarityMatrix | list[float])
async def compare_texts(body: SimilarityOrTeiRequest, compare: Use[Compare], settings: Use[Settings]) -> Response:
    """Score pairs of texts, or every text of `left` with every text of `right`."""
    if body.inputs is not None:
        end = body.parameters.end if body.parameters else body.truncate or "END"
        return await compare_as_tei(body.inputs, end, compare, settings, body.measure, body.model)
    kind = "matrix" if body.pairs is None else "explained pairs" if body.explain else "pairs"
    size = len(body.pairs or body.left or []) * len(body.right or [None])
    scored = await compare.similarity(body)
    answer = await json_answer(kind, size, scored.model_dump_json)
    return with_truncated(answer, sum(scored.truncated), scored.usage.passages)
