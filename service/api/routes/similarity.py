"""POST /similarity: scores of pairs of texts, or of a matrix."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from fastapi import APIRouter, Response

from semblance.service.api.error_shapes import TeiErrorAnswer
from semblance.service.api.refusals import ENCODING, FIELDS, MODEL, TEXTS, responses
from semblance.service.api.routing import JsonRoute, Use, json_answer, require_at_most, with_truncated
from semblance.service.api.schemas.calibration import calibration_out, probabilities_of
from semblance.service.api.schemas.explain import word_links_out
from semblance.service.api.schemas.fields import Usage
from semblance.service.api.schemas.other_apis.tei import TeiSource
from semblance.service.api.schemas.similarity import Pair, SimilarityRequest, SimilarityResponse
from semblance.service.api.schemas.warnings import warnings_out
from semblance.service.settings import Settings
from semblance.service.usecases.compare import Compare, CompareOptions
from semblance.service.usecases.embed import InputText

router = APIRouter(tags=["compare"], route_class=JsonRoute)

_CODES = (*FIELDS, *TEXTS, *MODEL, *ENCODING, "unknown_measure", "not_explainable")


@router.post(
    "/similarity",
    summary="Compare texts",
    response_model=SimilarityResponse | list[float],
    responses=responses(*_CODES, also=TeiErrorAnswer),
)
async def compare_texts(body: SimilarityRequest, compare: Use[Compare], settings: Use[Settings]) -> Response:
    """Score pairs of texts, or every text of `left` with every text of `right`."""
    if body.pairs is not None:
        return await _pairs(body, body.pairs, compare, settings)
    if body.inputs is not None:
        end = body.truncate if body.parameters is None else body.parameters.end
        options = CompareOptions(measure=body.measure, model=body.model, truncate=end)
        return await compare_as_tei(body.inputs, options, compare, settings)
    return await _matrix(body, body.left or [], body.right or [], compare, settings)


async def _pairs(body: SimilarityRequest, pairs: Sequence[Pair], compare: Compare, settings: Settings) -> Response:
    require_at_most("/pairs", len(pairs), settings.max_texts, "pairs")
    if body.explain:
        require_at_most("/pairs", len(pairs), settings.max_explained, "explanations")
    left = [InputText(pair.a, f"/pairs/{i}/a") for i, pair in enumerate(pairs)]
    right = [InputText(pair.b, f"/pairs/{i}/b") for i, pair in enumerate(pairs)]
    result = await compare.pairs(left, right, _options(body), body.explain)

    def write() -> str:
        answer = SimilarityResponse(
            model=result.encoder.name,
            space=result.encoder.space,
            measure=body.measure,
            scores=list(result.scores),
            probabilities=probabilities_of(result.calibration, result.scores),
            calibration=calibration_out(result.calibration),
            truncated=list(result.truncated),
            explanations=result.explanations and [word_links_out(why, body.measure) for why in result.explanations],
            warnings=warnings_out(result.warnings),
            usage=Usage(tokens=result.tokens),
        )
        return answer.model_dump_json()

    return await json_answer("explained pairs" if body.explain else "pairs", len(pairs), write)


async def compare_as_tei(inputs: TeiSource, options: CompareOptions, compare: Compare, settings: Settings) -> Response:
    """The scores of a text with others, as a list; a pair counts as truncated if either text is."""
    require_at_most("/inputs/sentences", len(inputs.sentences), settings.max_texts, "texts")
    result = await compare.pairs(
        [InputText(inputs.source_sentence, "/inputs/source_sentence")] * len(inputs.sentences),
        [InputText(text, f"/inputs/sentences/{i}") for i, text in enumerate(inputs.sentences)],
        options,
        explain=False,
    )
    answer = await json_answer("pairs", len(result.scores), lambda: orjson.dumps(result.scores))
    return with_truncated(answer, sum(result.truncated))


async def _matrix(
    body: SimilarityRequest, left: list[str], right: list[str], compare: Compare, settings: Settings
) -> Response:
    for pointer, side in (("/left", left), ("/right", right)):
        require_at_most(pointer, len(side), settings.max_texts, "texts")
    require_at_most("/right", len(left) * len(right), settings.max_scores, "scores")
    result = await compare.matrix(
        [InputText(text, f"/left/{i}") for i, text in enumerate(left)],
        [InputText(text, f"/right/{i}") for i, text in enumerate(right)],
        _options(body),
    )

    def write() -> str:
        answer = SimilarityResponse(
            model=result.encoder.name,
            space=result.encoder.space,
            measure=body.measure,
            scores=[list(row) for row in result.scores],
            probabilities=probabilities_of(result.calibration, result.scores),
            calibration=calibration_out(result.calibration),
            truncated=[*result.truncated_left, *result.truncated_right],
            warnings=warnings_out(result.warnings),
            usage=Usage(tokens=result.tokens),
        )
        return answer.model_dump_json()

    return await json_answer("matrix", len(left) * len(right), write)


def _options(body: SimilarityRequest) -> CompareOptions:
    return CompareOptions(measure=body.measure, model=body.model, truncate=body.truncate)
