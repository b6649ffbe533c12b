"""POST /v1/embed, /v2/embed, /v1/tokenize: texts as vectors or tokens, as Cohere has them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

import orjson
from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field
from semblance_client.vocabulary.described import Described
from semblance_client.vocabulary.fields import AtMostTexts, Bounded, ModelName, String, Truncate, require_one_of
from semblance_client.vocabulary.other_apis import ApiVersion
from semblance_client.vocabulary.responses import MAX_WARNINGS, Space

from semblance.service.api.other_apis.encodings import EmbeddingType, encoded
from semblance.service.api.other_apis.texts import Input, LenientBody, at_most_one, input_texts, role_of
from semblance.service.api.routing import JsonRoute, Use, json_answer, with_truncated
from semblance.service.model_loading.registry import LazyModels
from semblance.service.settings import Settings
from semblance.service.usecases.embed import Embed, TextVectors
from semblance.service.usecases.request_fields import require_at_most
from semblance.service.usecases.text_embedder import InputText, Truncation

router = APIRouter(tags=["compare"], route_class=JsonRoute)

_FORM = 'give texts, such as {"model": "minilm", "texts": ["a text"], "input_type": "search_query"}'

InputType: TypeAlias = Literal["search_document", "search_query", "classification", "clustering"]
EmbeddingTypes: TypeAlias = Annotated[list[EmbeddingType], Field(min_length=1), Bounded]


class CohereEmbedFields(LenientBody):
    """Fields of both versions of Cohere's API."""

    images: None = None
    """Not supported: leave it out."""
    model: ModelName | None = None
    """A served model; null is the default model."""
    input_type: InputType | None = None
    """Whether the texts are documents, for models that read them differently; all but `search_document` are queries."""
    embedding_types: EmbeddingTypes | None = None
    """The types of the vectors; see docs/clients.md. Null is float, without naming it."""
    truncate: Truncate | None = None
    """The end at which longer texts are truncated, END by default; NONE rejects them."""

    @property
    def end(self) -> Truncate:
        """The end at which longer texts are truncated."""
        return self.truncate or "END"


class CohereEmbedRequest(CohereEmbedFields):
    """Texts to embed, as version 1 of Cohere's API has them.

    Fields that are not listed are ignored.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"texts": ["A cat.", "A dog."], "input_type": "search_document", "embedding_types": ["int8"]}]
        }
    )

    texts: Input
    """The texts."""


class CohereContent(LenientBody):
    """A part of an input."""

    type: Literal["text"]
    """Kind of the part: only text."""
    text: String
    """The text."""


class CohereInput(LenientBody):
    """An input of one part or more, which are read as lines of one text."""

    content: Annotated[list[CohereContent], Field(min_length=1), Bounded]
    """Parts of the text."""

    @property
    def text(self) -> str:
        """The text of all parts."""
        return "\n".join(part.text for part in self.content)


class CohereEmbedV2Request(CohereEmbedFields):
    """Texts to embed, as version 2 of Cohere's API has them.

    Fields that are not listed are ignored.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"model": "minilm", "texts": ["A cat."], "input_type": "search_query", "embedding_types": ["float"]},
                {"inputs": [{"content": [{"type": "text", "text": "A cat."}]}], "output_dimension": 64},
            ]
        }
    )

    texts: Input | None = None
    """The texts."""
    inputs: Annotated[list[CohereInput], Field(min_length=1), Bounded, AtMostTexts] | None = None
    """Texts, each in parts."""
    max_tokens: int | None = Field(None, ge=1)
    """Most tokens that are read of a text, special ones included; `truncate` says what happens to longer ones."""
    output_dimension: int | None = Field(None, ge=1)
    """Keep only the first numbers, scaled to unit length; null keeps all."""

    _known_form = require_one_of("texts", "inputs", "images", otherwise=_FORM)
    _one_form = at_most_one("texts", "inputs")


class CohereTokenizeRequest(LenientBody):
    """A text to tokenize.

    Fields that are not listed are ignored.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "A kitten naps.", "model": "minilm"}]})

    text: String
    """The text to tokenize."""
    model: ModelName | None = None
    """A served model; null is the default model."""


class CohereTokens(Described):
    """The tokens of a text, without special ones."""

    tokens: list[int] = Field(description="The ids of the tokens in the vocabulary of the model.")
    token_strings: list[str] = Field(description="The part of the text that is each token.")


class InputUnits(Described):
    """Cohere's unit of billing."""

    input_tokens: int = Field(description="Tokens of all texts, special tokens included.")


class EmbedMeta(Described):
    """Cost and warnings, as Cohere's API has them."""

    api_version: ApiVersion
    """Version of the API."""
    billed_units: InputUnits
    """What was counted; nothing is billed."""
    warnings: list[str] = Field(description="Empty if there are none; the first 100.")


class VectorsByType(Described):
    """The vectors in each type that was asked for."""

    float: list[list[Any]] | None = None
    """Vectors as float32."""
    int8: list[list[int]] | None = None
    """Vectors as int8."""
    uint8: list[list[int]] | None = None
    """Vectors as uint8."""
    binary: list[list[int]] | None = None
    """Vectors as signed bytes of 8 bits."""
    ubinary: list[list[int]] | None = None
    """Vectors as bytes of 8 bits."""
    base64: list[str] | None = None
    """Vectors as float32 in base64."""


class CohereEmbedResponse(Described):
    """Vectors in the order of the texts."""

    id: str
    """Id of the request."""
    response_type: Literal["embeddings_floats", "embeddings_by_type"]
    """Whether vectors have one number type or several."""
    embeddings: list[list[float]] | VectorsByType = Field(
        description="By type, except from version 1 without `embedding_types`."
    )
    texts: list[str]
    """The texts."""
    model: str
    """Name of the model."""
    space: Space
    meta: EmbedMeta
    """Version, cost and warnings, as Cohere's API has them."""


@router.post("/v1/embed", summary="Embed texts, as Cohere's API v1 does", response_model=CohereEmbedResponse)
async def embed_under_version(body: CohereEmbedRequest, embed: Use[Embed], settings: Use[Settings]) -> Response:
    """The vector of each text, at unit length, in each type."""
    texts = input_texts("texts", body.texts, settings.max_texts)
    result = await embed.vectors(
        texts, model=body.model, truncation=Truncation(body.end), role=role_of(body.input_type)
    )
    return await _response(texts, result, body.embedding_types, "1")


@router.post("/v2/embed", summary="Embed texts, as Cohere's API does", response_model=CohereEmbedResponse)
async def embed_as_cohere(
    body: CohereEmbedV2Request, embed: Use[Embed], models: Use[LazyModels], settings: Use[Settings]
) -> Response:
    """The vector of each text, at unit length, in each type."""
    given = body.texts or [each.text for each in body.inputs or ()]
    texts = input_texts("texts" if body.texts else "inputs", given, settings.max_texts)
    encoder = await models.get(body.model)
    require_at_most("/output_dimension", body.output_dimension or 0, encoder.dim, "dimensions")
    most = body.max_tokens if body.max_tokens and body.max_tokens < encoder.max_tokens else None
    result = await embed.vectors(
        texts,
        model=body.model,
        dimensions=body.output_dimension,
        truncation=Truncation(body.end, most),
        role=role_of(body.input_type),
    )
    return await _response(texts, result, body.embedding_types or ["float"], "2")


@router.post("/v1/tokenize", summary="Tokenize a text, as Cohere's API does", response_model=CohereTokens)
async def tokenize_as_cohere(body: CohereTokenizeRequest, embed: Use[Embed]) -> Response:
    """All tokens of the text, also those that the model does not read."""
    [text] = (await embed.tokenize([InputText(body.text, "/text")], "document", body.model)).texts
    read = ~text.special
    parts = [text.text[start:stop] for start, stop in text.spans[read].tolist()]
    tokens = {"tokens": text.ids[read].tolist(), "token_strings": parts}
    return await json_answer("tokens", len(parts), lambda: orjson.dumps(tokens))


async def _response(
    texts: Sequence[InputText],
    result: TextVectors,
    types: Sequence[EmbeddingType] | None,
    version: Literal["1", "2"],
) -> Response:
    """A `CohereEmbedResponse`; each float32 in the fewest digits that identify it."""

    def write() -> bytes:
        embeddings = {type_: encoded(result.vectors, type_) for type_ in types or ()} or encoded(
            result.vectors, "float"
        )
        answer = {
            "id": uuid.uuid4().hex,
            "response_type": "embeddings_by_type" if types else "embeddings_floats",
            "embeddings": embeddings,
            "texts": [text.text for text in texts],
            "model": result.encoder.name,
            "space": result.encoder.space,
            "meta": {
                "api_version": {"version": version},
                "billed_units": {"input_tokens": result.tokens},
                "warnings": [f"{warning.pointer}: {warning.detail}" for warning in result.warnings[:MAX_WARNINGS]],
            },
        }
        return orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)

    answer = await json_answer("float", result.vectors.size * len(types or "1"), write)
    return with_truncated(answer, sum(result.truncated), result.passages)
