"""POST /score and /pooling, as vLLM has them: scores of pairs, and vectors of tokens."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

import orjson
from fastapi import APIRouter, Response
from semblance_client.vocabulary.responses import TokenUsage

from semblance.models.embeddings import Floats
from semblance.service.api.routing import JsonRoute, Use, json_answer, with_truncated
from semblance.service.api.schemas.other_apis.embeddings import EncodingFormat, base64_of
from semblance.service.api.schemas.other_apis.scores import (
    PoolingRequest,
    PoolingResponse,
    ScoreOut,
    ScoreRequest,
    ScoreResponse,
)
from semblance.service.model_loading.registry import LazyModels
from semblance.service.settings import Settings
from semblance.service.usecases.collections import DEFAULT_MEASURE
from semblance.service.usecases.compare import Compare
from semblance.service.usecases.embed import Embed, InputText, TextVectors, TokenVectors, VectorParams
from semblance.service.usecases.request_fields import require_at_most

router = APIRouter(tags=["compare"], route_class=JsonRoute)


@router.post("/score", summary="Score pairs, as vLLM does", response_model=ScoreResponse)
async def score_pairs(
    body: ScoreRequest, compare: Use[Compare], models: Use[LazyModels], settings: Use[Settings]
) -> Response:
    """Score each pair of two sides, or one text with several."""
    return await _score(body, compare, models, settings)


@router.post("/v1/score", summary="Score pairs, as vLLM's v1 does", response_model=ScoreResponse)
async def score_under_version(
    body: ScoreRequest, compare: Use[Compare], models: Use[LazyModels], settings: Use[Settings]
) -> Response:
    """Score each pair of two sides, or one text with several."""
    return await _score(body, compare, models, settings)


async def _score(body: ScoreRequest, compare: Compare, models: LazyModels, settings: Settings) -> Response:
    left, right = body.inputs()
    require_at_most("/" + right[0].pointer.split("/")[1], len(right), settings.max_texts, "pairs")
    choice = models.resolve(body.model)
    measure = body.measure or choice.measure or DEFAULT_MEASURE
    result = await compare.pairs(left, right, measure=measure, model=choice.model)

    def write() -> str:
        answer = ScoreResponse(
            id=uuid.uuid4().hex,
            created=int(time.time()),
            model=result.encoder.name,
            measure=measure,
            space=result.encoder.space,
            data=[ScoreOut(index=i, score=score) for i, score in enumerate(result.scores)],
            usage=TokenUsage(prompt_tokens=result.tokens, total_tokens=result.tokens),
        )
        return answer.model_dump_json()

    return with_truncated(await json_answer("pairs", len(right), write), sum(result.truncated))


@router.post(
    "/pooling",
    summary="Embed tokens or texts, as vLLM does",
    response_model=PoolingResponse,
)
async def pool_texts(body: PoolingRequest, embed: Use[Embed], settings: Use[Settings]) -> Response:
    """The vector of each token, special tokens included, or of each text."""
    require_at_most("/input", len(body.input), settings.max_texts, "texts")
    texts = [InputText(text, f"/input/{i}") for i, text in enumerate(body.input)]
    params = VectorParams(texts, body.model, None, "END")
    result = await (embed(params) if body.task == "embed" else embed.tokens(params))
    format_ = body.encoding_format or "float"
    numbers = result.tokens * result.encoder.dim
    answer = await json_answer(format_, numbers, lambda: _pooling_json(result, format_))
    return with_truncated(answer, sum(result.truncated))


def _pooling_json(result: TextVectors | TokenVectors, format_: EncodingFormat) -> bytes:
    """A `PoolingResponse` as JSON."""
    vectors: Sequence[Floats] = list(result.vectors)
    data: list[dict[str, Any]] = [
        {
            "index": i,
            "object": "pooling",
            "data": each if format_ == "float" else base64_of(each),
            "shape": list(each.shape),
        }
        for i, each in enumerate(vectors)
    ]
    answer = {
        "id": uuid.uuid4().hex,
        "object": "list",
        "created": int(time.time()),
        "model": result.encoder.name,
        "space": result.encoder.space,
        "data": data,
        "usage": {"prompt_tokens": result.tokens, "total_tokens": result.tokens},
    }
    return orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)
