"""POST /similarity: how alike are these texts?"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Response

from semblance.service.api.answers import written
from semblance.service.api.direct_route import DirectRoute
from semblance.service.api.errors import responses
from semblance.service.api.limits import require_at_most
from semblance.service.api.schemas.explain import explanation_out
from semblance.service.api.schemas.request import Usage
from semblance.service.api.schemas.similarity import Pair, SimilarityRequest, SimilarityResponse
from semblance.service.api.services import Services, Use
from semblance.service.usecases.compare import Comparison
from semblance.service.usecases.embed_texts import Given

router = APIRouter(tags=["compare"], route_class=DirectRoute)


@router.post("/similarity", response_model=SimilarityResponse, responses=responses(400, 404, 413, 415, 422, 429, 503))
async def similarity(body: SimilarityRequest, use: Use) -> Response:
    """Score pairs of texts, or every text of `left` with every text of `right`."""
    if body.pairs is not None:
        return await _pairs(body, body.pairs, use)
    return await _matrix(body, body.left or [], body.right or [], use)


async def _pairs(body: SimilarityRequest, pairs: Sequence[Pair], use: Services) -> Response:
    require_at_most("/pairs", len(pairs), use.settings.max_texts, "pairs")
    if body.explain:
        require_at_most("/pairs", len(pairs), use.settings.max_explained, "explanations")
    left = [Given(pair.a, f"/pairs/{i}/a") for i, pair in enumerate(pairs)]
    right = [Given(pair.b, f"/pairs/{i}/b") for i, pair in enumerate(pairs)]
    compared = await use.compare.pairs(left, right, _comparison(body), body.explain)

    def write() -> str:
        explained = None if compared.explanations is None else zip(compared.explanations, pairs, strict=True)
        answer = SimilarityResponse(
            model=compared.encoder.name,
            space=compared.encoder.space,
            measure=body.measure,
            scores=list(compared.scores),
            truncated=list(compared.truncated),
            explanations=explained
            and [explanation_out(why, body.measure, (pair.a, pair.b)) for why, pair in explained],
            usage=Usage(tokens=compared.tokens),
        )
        return answer.model_dump_json()

    return await written("explained pairs" if body.explain else "pairs", len(pairs), write)


async def _matrix(body: SimilarityRequest, left: list[str], right: list[str], use: Services) -> Response:
    for pointer, side in (("/left", left), ("/right", right)):
        require_at_most(pointer, len(side), use.settings.max_texts, "texts")
    require_at_most("/right", len(left) * len(right), use.settings.max_scores, "scores")
    compared = await use.compare.matrix(
        [Given(text, f"/left/{i}") for i, text in enumerate(left)],
        [Given(text, f"/right/{i}") for i, text in enumerate(right)],
        _comparison(body),
    )

    def write() -> str:
        answer = SimilarityResponse(
            model=compared.encoder.name,
            space=compared.encoder.space,
            measure=body.measure,
            scores=[list(row) for row in compared.scores],
            truncated=[*compared.truncated_left, *compared.truncated_right],
            usage=Usage(tokens=compared.tokens),
        )
        return answer.model_dump_json()

    return await written("matrix", len(left) * len(right), write)


def _comparison(body: SimilarityRequest) -> Comparison:
    return Comparison(measure=body.measure, model=body.model, truncate=body.truncate)
