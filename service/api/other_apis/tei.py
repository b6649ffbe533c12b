"""Routes of Text Embeddings Inference (TEI), with the default model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Response
from pydantic import BeforeValidator, ConfigDict, Field, PlainValidator, TypeAdapter, WithJsonSchema
from pydantic_core import PydanticCustomError
from semblance_client.vocabulary.described import Described
from semblance_client.vocabulary.fields import (
    AtMostTexts,
    Bounded,
    String,
    Text,
    Truncate,
    alternative,
    one_of,
    require_one_of,
)
from semblance_client.vocabulary.similarity import EXAMPLES, FORMS, SimilarityRequest

from semblance.models.protocols import TokenDecoder
from semblance.models.text import TokenizedText
from semblance.service.api.other_apis.texts import (
    ID_LISTS,
    IDS,
    Ids,
    Input,
    LenientBody,
    TextsOrIds,
    decoded_texts,
    input_texts,
    is_ids,
    own_decoder,
    role_of,
)
from semblance.service.api.routing import JsonRoute, StrictRoute, Use, json_answer, with_truncated
from semblance.service.errors import InvalidRequest, NotReady, Problem
from semblance.service.model_loading.registry import LazyModels
from semblance.service.process.readiness import Readiness
from semblance.service.settings import Settings
from semblance.service.usecases.collections import DEFAULT_MEASURE
from semblance.service.usecases.compare import Compare
from semblance.service.usecases.embed import Embed, TextTokens
from semblance.service.usecases.request_fields import require_at_most
from semblance.service.usecases.text_embedder import InputText, Truncation

router = APIRouter(tags=["tei"], route_class=JsonRoute)
pages = APIRouter(tags=["tei"], route_class=StrictRoute)

Direction = Annotated[
    Literal["left", "right"],
    BeforeValidator(lambda value: value.lower() if isinstance(value, str) else value),
    WithJsonSchema({"type": "string", "pattern": "^([Ll]eft|[Rr]ight)$"}),
]


def end_of(truncate: bool | None, direction: Literal["left", "right"] | None) -> Truncate:
    """The end at which long texts are truncated; they are by default.

    >>> end_of(None, None), end_of(True, "left"), end_of(False, "left")
    ('END', 'START', 'NONE')
    """
    if truncate is False:
        return "NONE"
    return "START" if direction == "left" else "END"


class TruncationFields(LenientBody):
    """Fields of TEI for long texts. Fields that are not listed are ignored."""

    truncate: bool | None = None
    """False rejects longer texts; by default they are truncated."""
    truncation_direction: Direction | None = None
    """The end at which they are."""
    prompt_name: String | None = None
    """`document` or `passage` for documents, else queries."""

    @property
    def end(self) -> Truncate:
        """The end at which long texts are truncated."""
        return end_of(self.truncate, self.truncation_direction)


class TeiTexts(TruncationFields):
    """A text, or a list of texts.

    A text may be a list of the model's own token ids, as POST /tokenize has them.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"inputs": "A kitten naps.", "prompt_name": "query"}]})

    inputs: TextsOrIds
    """One text or several."""


class TeiEmbedRequest(TeiTexts):
    """A text, or a list of texts, and what their vectors should be."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"inputs": ["A cat.", "A dog."], "truncate": True}]})

    normalize: bool | None = None
    """False returns the vectors as the model has them."""
    dimensions: int | None = Field(None, ge=1)
    """Keep only the first ones."""


class TeiSource(LenientBody):
    """A text, and texts to compare it with."""

    source_sentence: Text
    """The text to compare with all others."""
    sentences: Annotated[list[Text], Bounded, AtMostTexts] = Field(min_length=1)
    """The other texts."""


class SimilarityOrTeiRequest(SimilarityRequest):
    """Either `pairs`, or `left` and `right` for a matrix; `inputs` is TEI's form."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                *EXAMPLES,
                {"inputs": {"source_sentence": "A man is playing a guitar.", "sentences": ["It rains."]}},
            ],
            "allOf": one_of(
                alternative({"pairs": "array"}, "left", "right", "inputs"),
                alternative({"left": "array", "right": "array"}, "pairs", "inputs", explain=False),
                alternative({"inputs": "object"}, "pairs", "left", "right", explain=False),
            ),
        },
    )

    inputs: TeiSource | None = None
    """TEI's form, answered by a list of scores."""
    parameters: TruncationFields | None = None
    """Of TEI's form."""

    _known_form = require_one_of("pairs", "left", "right", "inputs", otherwise=FORMS)

    def _require_one_form(self) -> None:
        if self.inputs is None:
            super()._require_one_form()
        elif self.pairs is not None or self.left is not None or self.right is not None:
            raise PydanticCustomError("invalid_request", FORMS)
        elif self.explain:
            raise PydanticCustomError("invalid_request", "explain needs pairs")


_TEXTS: TypeAdapter[list[str | list[int]]] = TypeAdapter(TextsOrIds, config=ConfigDict(strict=True))


def _texts_or_source(value: object) -> object:
    return TeiSource.model_validate(value) if isinstance(value, dict) else _TEXTS.validate_python(value)


class TeiRootRequest(TeiEmbedRequest):
    """Texts to embed, or a text and those to compare it with."""

    inputs: Annotated[Any, PlainValidator(_texts_or_source)]
    parameters: TruncationFields | None = None


class TeiTokenizeRequest(LenientBody):
    """A text, or a list of texts, to tokenize."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"inputs": "A kitten naps."}]})

    inputs: Input
    """One text or several."""
    add_special_tokens: bool | None = None
    """False leaves special tokens and prompts out."""
    prompt_name: String | None = None
    """Name of a prompt of the model, which is put before each text."""


class TeiToken(Described):
    """A token, with its place in the text in Unicode code points unless it is special."""

    id: int
    """Token id."""
    text: str
    """The token as the tokenizer writes it."""
    special: bool
    """Whether it is a special token."""
    start: int | None
    """First code point; null for a special token."""
    stop: int | None
    """One past the last code point; null for a special token."""


def _lists(value: object) -> object:
    """A list of ids as a list of one list."""
    return [value] if is_ids(value) else value


class TeiDecodeRequest(LenientBody):
    """Token ids, or a list of lists of them."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"ids": [101, 1037, 4937, 102]}]})

    ids: Annotated[
        list[Ids],
        Field(min_length=1),
        Bounded,
        BeforeValidator(_lists),
        WithJsonSchema({"anyOf": [IDS, ID_LISTS]}),
    ]
    """Token ids: a list, or several lists."""
    skip_special_tokens: bool | None = None
    """Whether special tokens are left out."""


class TeiPooling(Described):
    """The pooling of token vectors."""

    pooling: str
    """How token vectors become one."""


class TeiModelType(Described):
    """The kind of the model."""

    embedding: TeiPooling
    """How vectors are made."""


class TeiInfo(Described):
    """The default model and the limits of this process."""

    model_id: str
    """Name of the model."""
    model_sha: str | None = None
    """Digest of the model; null if unknown."""
    model_dtype: Literal["float32"] = Field("float32", description="Of the vectors; the network may use bfloat16.")
    served_model_name: str
    """Name of the model."""
    model_type: TeiModelType
    """Kind of the model."""
    max_concurrent_requests: int
    """Requests at a time."""
    max_input_length: int
    """Tokens of a text."""
    max_batch_tokens: int
    """Tokens of a batch."""
    max_batch_requests: int | None = None
    """Requests of a batch; null is without a limit."""
    max_client_batch_size: int
    """Texts of a request."""
    auto_truncate: Literal[True] = True
    """Whether longer texts are truncated."""
    tokenization_workers: int = 1
    """Threads of the tokenizer."""
    version: str
    """Of Semblance."""


@router.post("/embed", summary="Embed texts, as TEI does", response_model=list[list[float]])
async def embed_as_tei(
    body: TeiEmbedRequest, embed: Use[Embed], models: Use[LazyModels], settings: Use[Settings]
) -> Response:
    """The vector of each text."""
    result = await embed.vectors(
        await _decoded(body, models, settings),
        dimensions=body.dimensions,
        truncation=Truncation(body.end),
        role=role_of(body.prompt_name),
        normalize=body.normalize is not False,
    )
    return await _arrays(result.vectors, result.vectors.size, sum(result.truncated))


@router.post("/", include_in_schema=False)  # as GET /, which redirects to the documentation
async def serve_root(
    body: TeiRootRequest,
    embed: Use[Embed],
    compare: Use[Compare],
    models: Use[LazyModels],
    settings: Use[Settings],
) -> Response:
    """Embed or compare texts, for clients that post both to the address itself."""
    if isinstance(body.inputs, TeiSource):
        return await compare_as_tei(body.inputs, (body.parameters or body).end, compare, settings)
    return await embed_as_tei(body, embed, models, settings)


async def compare_as_tei(
    inputs: TeiSource,
    truncate: Truncate,
    compare: Compare,
    settings: Settings,
    measure: str = DEFAULT_MEASURE,
    model: str | None = None,
) -> Response:
    """The scores of a text with others, as a list; a pair counts as truncated if either text is."""
    texts = input_texts("inputs/sentences", inputs.sentences, settings.max_texts)
    source = [InputText(inputs.source_sentence, "/inputs/source_sentence")] * len(texts)
    scored = await compare.pairs(source, texts, measure=measure, model=model, truncation=Truncation(truncate))
    answer = await json_answer("pairs", len(texts), lambda: orjson.dumps(scored.scores))
    return with_truncated(answer, sum(scored.truncated))


@router.post("/embed_all", summary="Embed tokens, as TEI does", response_model=list[list[list[float]]])
async def embed_tokens(body: TeiTexts, embed: Use[Embed], models: Use[LazyModels], settings: Use[Settings]) -> Response:
    """The vector of each token of each text, special tokens included."""
    texts = await _decoded(body, models, settings)
    result = await embed.token_vectors(texts, truncation=Truncation(body.end), role=role_of(body.prompt_name))
    return await _arrays(result.vectors, result.tokens * result.encoder.dim, sum(result.truncated))


async def _decoded(body: TeiTexts, models: LazyModels, settings: Settings) -> list[InputText]:
    """The texts of a request, of which some may be ids of the default model."""
    return await decoded_texts("inputs", body.inputs, settings.max_texts, lambda: own_decoder(models, "inputs"))


async def _arrays(vectors: object, size: int, truncated: int) -> Response:
    """Arrays of `size` numbers as JSON, and how many texts were truncated."""
    answer = await json_answer("float", size, lambda: orjson.dumps(vectors, option=orjson.OPT_SERIALIZE_NUMPY))
    return with_truncated(answer, truncated)


@router.post("/tokenize", summary="Tokenize texts, as TEI does", response_model=list[list[TeiToken]])
async def tokenize_texts(body: TeiTokenizeRequest, embed: Use[Embed], settings: Use[Settings]) -> Response:
    """All tokens of each text, prompts included, also those that the model does not read."""
    texts = input_texts("inputs", body.inputs, settings.max_texts)
    found = await embed.tokenize(texts, role_of(body.prompt_name))
    special = body.add_special_tokens is not False

    def write() -> bytes:
        names = _special_names(found) if special else {}
        return orjson.dumps([[token.model_dump() for token in _tokens(text, names)] for text in found.texts])

    return await json_answer("tokens", sum(map(len, found.texts)), write)


@router.post("/decode", summary="Turn token ids into text, as TEI does", response_model=list[str])
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


@pages.get("/health", summary="Tell whether the service is ready, as TEI does", response_class=Response)
async def get_health(readiness: Use[Readiness]) -> Response:
    """Empty if the service is ready."""
    if not readiness.is_ready():
        raise NotReady("unhealthy; see /ready")
    return Response()


def _special_names(found: TextTokens) -> dict[int, str]:
    """The special and prompt tokens of the texts, by id."""
    ids = sorted({int(id_) for text in found.texts for id_ in text.ids[text.special]})
    if not isinstance(found.encoder, TokenDecoder):
        return dict.fromkeys(ids, "")
    return dict(zip(ids, found.encoder.decode([[id_] for id_ in ids], skip_special_tokens=False), strict=True))


def _tokens(text: TokenizedText, names: Mapping[int, str]) -> Iterator[TeiToken]:
    """The tokens of a text; of special ones, only those with names."""
    for token, (start, stop), special in zip(
        text.ids.tolist(), text.spans.tolist(), text.special.tolist(), strict=True
    ):
        if not special:
            yield TeiToken(id=token, text=text.text[start:stop], special=False, start=start, stop=stop)
        elif token in names:
            yield TeiToken(id=token, text=names[token], special=True, start=None, stop=None)
