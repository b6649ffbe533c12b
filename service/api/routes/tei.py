"""Routes of Text Embeddings Inference (TEI), with the default model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version

import orjson
from fastapi import APIRouter, Response

from semblance.models.protocols import TokenDecoder
from semblance.models.text import TokenizedText
from semblance.service.api.routes.similarity import compare_as_tei
from semblance.service.api.routing import JsonRoute, StrictRoute, Use, json_answer, with_truncated
from semblance.service.api.schemas.other_apis.tei import (
    TeiDecodeRequest,
    TeiEmbedRequest,
    TeiInfo,
    TeiModelType,
    TeiPooling,
    TeiRootRequest,
    TeiSource,
    TeiTexts,
    TeiToken,
    TeiTokenizeRequest,
)
from semblance.service.errors import InvalidRequest, NotReady, Problem
from semblance.service.model_loading.registry import LazyModels
from semblance.service.process.readiness import Readiness
from semblance.service.settings import Settings
from semblance.service.usecases.compare import Compare
from semblance.service.usecases.embed import Embed, InputText, TextTokens, VectorParams
from semblance.service.usecases.request_fields import require_at_most

router = APIRouter(tags=["tei"], route_class=JsonRoute)
pages = APIRouter(tags=["tei"], route_class=StrictRoute)


@router.post("/embed", summary="Embed texts, as TEI does", response_model=list[list[float]])
async def embed_as_tei(body: TeiEmbedRequest, embed: Use[Embed], settings: Use[Settings]) -> Response:
    """The vector of each text."""
    return await _embed(body, embed, settings)


@router.post("/", include_in_schema=False)  # as GET /, which redirects to the documentation
async def serve_root(
    body: TeiRootRequest, embed: Use[Embed], compare: Use[Compare], settings: Use[Settings]
) -> Response:
    """Embed or compare texts, for clients that post both to the address itself."""
    if isinstance(body.inputs, TeiSource):
        end = (body.parameters or body).end
        return await compare_as_tei(body.inputs, end, compare, settings)
    return await _embed(body, embed, settings)


async def _embed(body: TeiEmbedRequest, embed: Embed, settings: Settings) -> Response:
    params = _params(body, settings, normalize=body.normalize is not False, dimensions=body.dimensions)
    result = await embed(params)
    answer = await json_answer(
        "float", result.vectors.size, lambda: orjson.dumps(result.vectors, option=orjson.OPT_SERIALIZE_NUMPY)
    )
    return with_truncated(answer, sum(result.truncated))


@router.post(
    "/embed_all",
    summary="Embed tokens, as TEI does",
    response_model=list[list[list[float]]],
)
async def embed_tokens(body: TeiTexts, embed: Use[Embed], settings: Use[Settings]) -> Response:
    """The vector of each token of each text, special tokens included."""
    result = await embed.tokens(_params(body, settings))
    answer = await json_answer(
        "float",
        result.tokens * result.encoder.dim,
        lambda: orjson.dumps(result.vectors, option=orjson.OPT_SERIALIZE_NUMPY),
    )
    return with_truncated(answer, sum(result.truncated))


@router.post(
    "/tokenize",
    summary="Tokenize texts, as TEI does",
    response_model=list[list[TeiToken]],
)
async def tokenize_texts(body: TeiTokenizeRequest, embed: Use[Embed], settings: Use[Settings]) -> Response:
    """The tokens that the model reads of each text, prompts included."""
    require_at_most("/inputs", len(body.inputs), settings.max_texts, "texts")
    texts = [InputText(text, f"/inputs/{i}") for i, text in enumerate(body.inputs)]
    found = await embed.tokenize(None, texts, body.role)
    special = body.add_special_tokens is not False

    def write() -> bytes:
        names = _special_names(found) if special else {}
        return orjson.dumps([[each.model_dump() for each in _tokens(text, names)] for text in found.texts])

    return await json_answer("tokens", sum(map(len, found.texts)), write)


@router.post(
    "/decode",
    summary="Turn token ids into text, as TEI does",
    response_model=list[str],
)
async def decode_tokens(body: TeiDecodeRequest, models: Use[LazyModels], settings: Use[Settings]) -> Response:
    """The text of each list of token ids."""
    require_at_most("/ids", len(body.ids), settings.max_texts, "lists")
    encoder = await models.get(None)
    if not isinstance(encoder, TokenDecoder):
        raise InvalidRequest([Problem("/ids", "invalid_value", f"{encoder.name} has words instead of token ids")])
    try:
        texts = encoder.decode(body.ids, skip_special_tokens=body.skip_special_tokens is not False)
    except ValueError as error:
        raise InvalidRequest([Problem("/ids", "out_of_range", str(error))]) from error
    return await json_answer("text", len(texts), lambda: orjson.dumps(texts))


@pages.get("/info", summary="Show the default model, as TEI does")
async def get_info(models: Use[LazyModels], settings: Use[Settings]) -> TeiInfo:
    """The default model and the limits of this process."""
    encoder = await models.get(None)
    return TeiInfo(
        model_id=encoder.name,
        served_model_name=encoder.name,
        model_type=TeiModelType(embedding=TeiPooling(pooling=models.files[models.default].pooling)),
        max_concurrent_requests=settings.max_connections,
        max_input_length=encoder.max_tokens,
        max_batch_tokens=settings.max_queued_tokens,
        max_client_batch_size=settings.max_texts,
        version=version("semblance-server"),
    )


@pages.get(
    "/health",
    summary="Tell whether the service is ready, as TEI does",
    response_class=Response,
)
async def get_health(readiness: Use[Readiness]) -> Response:
    """Empty if the service is ready."""
    if not readiness.is_ready():
        raise NotReady("unhealthy; see /ready")
    return Response()


def _params(
    body: TeiTexts, settings: Settings, *, normalize: bool = True, dimensions: int | None = None
) -> VectorParams:
    require_at_most("/inputs", len(body.inputs), settings.max_texts, "texts")
    return VectorParams(
        texts=[InputText(text, f"/inputs/{i}") for i, text in enumerate(body.inputs)],
        model=None,
        dimensions=dimensions,
        truncate=body.end,
        role=body.role,
        normalize=normalize,
    )


def _special_names(found: TextTokens) -> dict[int, str]:
    """The special and prompt tokens of the texts, by id."""
    ids = sorted({int(each) for text in found.texts for each in text.ids[text.special]})
    if not isinstance(found.encoder, TokenDecoder):
        return dict.fromkeys(ids, "")
    return dict(zip(ids, found.encoder.decode([[each] for each in ids], skip_special_tokens=False), strict=True))


def _tokens(text: TokenizedText, names: Mapping[int, str]) -> Iterator[TeiToken]:
    """The tokens of a text; of special ones, only those with names."""
    for token, (start, stop), special in zip(
        text.ids.tolist(), text.spans.tolist(), text.special.tolist(), strict=True
    ):
        if not special:
            yield TeiToken(id=token, text=text.text[start:stop], special=False, start=start, stop=stop)
        elif token in names:
            yield TeiToken(id=token, text=names[token], special=True, start=None, stop=None)
