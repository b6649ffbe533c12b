"""POST /similarity: scores of pairs of texts, or of a matrix."""

from __future__ import annotations

import orjson
from fastapi import APIRouter, Response
from semblance_client.vocabulary.similarity import Similarities, SimilarityMatrix

from semblance.models.text import Truncate
from semblance.service.api.routing import JsonRoute, Use, json_answer, with_truncated
from semblance.service.api.schemas.other_apis.tei import SimilarityOrTeiRequest, TeiSource
from semblance.service.settings import Settings
from semblance.service.usecases.collections import DEFAULT_MEASURE
from semblance.service.usecases.compare import Compare
from semblance.service.usecases.embed import InputText
from semblance.service.usecases.request_fields import require_at_most

router = APIRouter(tags=["compare"], route_class=JsonRoute)


@router.post("/similarity", summary="Compare texts", response_model=Similarities | SimilarityMatrix | list[float])
async def compare_texts(body: SimilarityOrTeiRequest, compare: Use[Compare], settings: Use[Settings]) -> Response:
    """Score pairs of texts, or every text of `left` with every text of `right`."""
    if body.inputs is not None:
        end = body.parameters.end if body.parameters else body.truncate
        return await compare_as_tei(body.inputs, end, compare, settings, body.measure, body.model)
    kind = "matrix" if body.pairs is None else "explained pairs" if body.explain else "pairs"
    size = len(body.pairs or body.left or []) * len(body.right or [None])
    scored = await compare.similarity(body)
    return await json_answer(kind, size, scored.model_dump_json)


async def compare_as_tei(
    inputs: TeiSource,
    truncate: Truncate,
    compare: Compare,
    settings: Settings,
    measure: str = DEFAULT_MEASURE,
    model: str | None = None,
) -> Response:
    """The scores of a text with others, as a list; a pair counts as truncated if either text is."""
    require_at_most("/inputs/sentences", len(inputs.sentences), settings.max_texts, "texts")
    scored = await compare.pairs(
        [InputText(inputs.source_sentence, "/inputs/source_sentence")] * len(inputs.sentences),
        [InputText(text, f"/inputs/sentences/{i}") for i, text in enumerate(inputs.sentences)],
        measure=measure,
        model=model,
        truncate=truncate,
    )
    answer = await json_answer("pairs", len(scored.scores), lambda: orjson.dumps(scored.scores))
    return with_truncated(answer, sum(scored.truncated))
