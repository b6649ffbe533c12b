"""POST /rerank: documents of a request by relevance, for clients of several APIs."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from fastapi import APIRouter, Response
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError
from semblance_client.vocabulary.described import Described
from semblance_client.vocabulary.fields import (
    AtMostTexts,
    Bounded,
    Measure,
    MinProbability,
    RerankModel,
    String,
    Text,
    Truncate,
    alternative,
    one_of,
    require_one_of,
)
from semblance_client.vocabulary.other_apis import Ranking
from semblance_client.vocabulary.prune import Keep

from semblance.models.alignment.relevant_spans import SpanOptions
from semblance.service.api.other_apis.rankings import (
    AnyRanking,
    TeiRank,
    VoyageResponse,
    any_ranking,
    ranking,
    tei_ranks,
    voyage_response,
)
from semblance.service.api.other_apis.rerank_documents import LIST, Documents, text_of_document
from semblance.service.api.other_apis.tei import Direction, end_of
from semblance.service.api.other_apis.texts import (
    STRING,
    TEXT,
    TEXT_OBJECT,
    OnlyFalse,
    RankingModelName,
    VllmFields,
    at_most_one,
    end_if,
    text_of,
)
from semblance.service.api.routing import JsonRoute, Use, json_answer, with_truncated
from semblance.service.errors import InvalidRequest, Problem
from semblance.service.settings import Settings
from semblance.service.usecases.request_fields import require_at_most
from semblance.service.usecases.rerank import DEFAULT_MEASURE, Rerank, RerankParams
from semblance.service.usecases.text_embedder import InputText

router = APIRouter(tags=["compare"], route_class=JsonRoute)

_DOCUMENTS_NEEDED = 'give documents, such as {"query": "a text", "documents": ["one text", "another"]}'
_FORMS = 'give documents, such as {"query": "a text", "documents": ["one text", "another"]}, or texts, as TEI does'
_NO_TEXT = "it has no text: give a string, an object with the field text, or rank_fields that name its fields"


_NO_TEXTS = {"properties": {"documents": {"anyOf": [STRING, LIST]}, "texts": {"type": "null"}}}

Query = Annotated[Text, BeforeValidator(text_of), WithJsonSchema({"anyOf": [TEXT, TEXT_OBJECT]})]

_VOYAGE_FIELDS = {"query", "documents", "model", "top_k", "return_documents", "truncation"}


class SpansIn(Described):
    """Which spans of the documents to return, as Cohere's API has it."""

    model_config = ConfigDict(strict=True)

    mode: Literal["enabled", "disabled"] = "enabled"
    """Whether to return the spans."""
    threshold: float | None = Field(None, description="Least score of a span; 0.1 if null.", allow_inf_nan=False)
    max_spans: int | None = Field(None, ge=1, description="Most spans of a document; all if null.")


class RerankRequest(VllmFields):
    """A query and documents. Fields that are not listed here are ignored."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "my parcel never came",
                    "documents": ["Track a shipment with its number.", "Return shoes within 30 days."],
                    "top_n": 1,
                    "relevant_spans": {"mode": "enabled"},
                },
            ],
        },
    )

    query: Query
    """The text that is searched for."""
    documents: Documents | None
    """Documents to rank: strings, or objects with `text`."""
    model: RankingModelName | None = None
    """Name of the model."""
    rerank_model: RerankModel | None = None
    """Not Cohere's: the same as a rerank model in `model`, with another first stage than the default."""
    measure: Measure | None = Field(
        None, description=f"Not Cohere's: null is that of the model's name, or {DEFAULT_MEASURE}."
    )
    top_n: int | None = Field(None, ge=0, description="Most results; 0, null or more than there are: all.")
    top_k: int | None = Field(None, ge=0, description="The same in Voyage's API, whose answer has `data`.")
    truncation: bool | None = None
    """False rejects documents that are longer than the model reads.

    By default their best passage counts.
    """
    rank_fields: list[String] | None = Field(
        None, min_length=1, description="Fields of documents that are objects, read as lines `field: value`."
    )
    return_documents: bool | None = Field(
        None, description="False leaves them out; by default only Voyage's answer does."
    )
    max_tokens_per_doc: int | None = Field(None, ge=1)
    """Most tokens that are read of a document, special ones included; null is no limit.

    If they are more than the model reads at once, whole passages are read.
    """
    max_doc_length: int | None = Field(None, ge=1)
    """The same in Jina's API."""
    max_chunks_per_doc: int | None = Field(None, ge=1)
    """Most passages that are read of a document."""
    relevant_spans: SpansIn | None = None
    """Return the spans of each result that make its score."""
    keep: Keep | None = None
    """Not Cohere's: return the sentences of all results that keep a share of the score, or fit into some tokens."""
    min_probability: MinProbability = None
    explain: bool | None = None
    """Not Cohere's: also return the links between words."""
    truncate_prompt_tokens: Literal[-1] | None = None
    """Only -1: a text is truncated to what the model reads."""
    return_embeddings: OnlyFalse | None = None
    """Only false: no vectors are returned."""
    raw_scores: bool | None = None
    """TEI's: with `texts`, scores of the measure or the rerank model, not mapped to [0, 1].

    With `documents`, each result has `raw_score`.
    """

    _one_limit = at_most_one("max_tokens_per_doc", "max_doc_length")
    _known_form = require_one_of("documents", otherwise=_DOCUMENTS_NEEDED)

    @model_validator(mode="after")
    def _mapped_scores(self) -> Self:
        if self.raw_scores and self.documents is not None:
            raise PydanticCustomError("invalid_request", "raw_scores needs texts; with documents, read raw_score")
        return self

    @property
    def is_voyage(self) -> bool:
        """Whether it has the field of Voyage's API alone, which its client sends even if null."""
        return self.top_n is None and "top_k" in self.model_fields_set

    @property
    def may_be_voyage(self) -> bool:
        """Whether all its fields are Voyage's, whose client for TypeScript leaves out `top_k`."""
        return self.model_fields_set <= _VOYAGE_FIELDS

    @property
    def top(self) -> int | None:
        """Most results; None for all."""
        return self.top_n or self.top_k or None

    @property
    def end(self) -> Truncate:
        """The end at which long texts are truncated."""
        return end_if(self.truncation, "END")

    @property
    def spans(self) -> SpanOptions | None:
        """Which spans to return; None for none."""
        asked = self.relevant_spans
        if asked is None or asked.mode == "disabled":
            return None
        defaults = SpanOptions()
        return SpanOptions(defaults.threshold if asked.threshold is None else asked.threshold, asked.max_spans)

    def inputs(self) -> list[InputText]:
        """The texts of the documents. Raises InvalidRequest if some have none."""
        texts = [text_of_document(document, self.rank_fields) for document in self.documents or ()]
        if missing := [i for i, text in enumerate(texts) if text is None]:
            raise InvalidRequest([Problem(f"/documents/{i}", "invalid_value", _NO_TEXT) for i in missing])
        return [InputText(text or "", f"/documents/{i}") for i, text in enumerate(texts)]


class RerankOrTeiRequest(RerankRequest):
    """A query with `documents`, or with `texts`, as TEI has it.

    Fields that are not listed here are ignored.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "my parcel never came", "texts": ["Track a shipment.", "Return shoes."], "return_text": True},
                {"query": "my parcel never came", "documents": [{"text": "Track a shipment."}]},
            ],
            "allOf": one_of(alternative({"texts": "array"}, "documents"), {"required": ["documents"], **_NO_TEXTS}),
        },
    )

    documents: Documents | None = None
    """Documents to rank: strings, or objects with `text`."""
    texts: Annotated[list[String] | None, Bounded, AtMostTexts] = Field(
        None, min_length=1, description="TEI's documents."
    )
    return_text: bool | None = None
    """TEI's: return the texts."""
    truncate: bool | None = None
    """TEI's: whether longer texts are truncated; by default they are."""
    truncation_direction: Direction | None = None
    """The end at which they are."""

    _known_form = require_one_of("documents", "texts", otherwise=_FORMS)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if self.texts is not None and self.documents is not None:
            raise PydanticCustomError("invalid_request", "give either documents or texts")
        return self

    @property
    def end(self) -> Truncate:
        """The end at which long texts are truncated."""
        return end_of(self.truncation if self.texts is None else self.truncate, self.truncation_direction)

    def inputs(self) -> list[InputText]:
        """The texts of the documents. Raises InvalidRequest if some have none."""
        if self.texts is None:
            return super().inputs()
        return [InputText(text, f"/texts/{i}") for i, text in enumerate(self.texts)]


@router.post(
    "/rerank",
    summary="Order documents, for clients of many APIs",
    response_model=AnyRanking | VoyageResponse | list[TeiRank],
)
async def rerank_texts(body: RerankOrTeiRequest, rerank: Use[Rerank], settings: Use[Settings]) -> Response:
    """Order documents by their relevance to a query, best first."""
    return await _answer(body, rerank, settings, "2", voyage=True)


@router.post(
    "/v1/rerank",
    summary="Order documents, as Jina's API does",
    response_model=AnyRanking | VoyageResponse,
)
async def rerank_as_jina(body: RerankRequest, rerank: Use[Rerank], settings: Use[Settings]) -> Response:
    """Order documents by their relevance to a query, best first.

    Cohere's API v1 and Voyage's have the same path.
    """
    return await _answer(body, rerank, settings, "1", voyage=True)


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
    shown = None if body.return_documents is False else texts
    tei = body if isinstance(body, RerankOrTeiRequest) and body.texts is not None else None
    require_at_most("/texts" if tei else "/documents", len(texts), settings.max_texts, "documents")
    spans, explain = body.spans, bool(body.explain)
    if spans or explain:
        require_at_most("/top_n", min(body.top or len(texts), len(texts)), settings.max_explained, "explanations")
    found = await rerank.rank(
        RerankParams(
            query=InputText(body.query, "/query"),
            documents=texts,
            model=body.model,
            rerank_model=body.rerank_model,
            measure=body.measure,
            top=body.top,
            truncate=body.end,
            spans=spans,
            keep=body.keep,
            explain=explain,
            min_probability=body.min_probability,
            max_tokens=body.max_tokens_per_doc or body.max_doc_length,
            max_passages=body.max_chunks_per_doc,
        )
    )

    def write() -> bytes:
        response: BaseModel
        if tei:
            response = tei_ranks(found, texts if tei.return_text else None, raw=bool(tei.raw_scores))
        elif voyage and body.is_voyage:
            response = voyage_response(found, texts if body.return_documents else None)
        elif voyage and body.may_be_voyage:
            response = any_ranking(found, len(texts), shown, version, texts if body.return_documents else None)
        else:
            response = ranking(found, len(texts), shown, version)
        return response.model_dump_json(exclude_none=True).encode()

    answer = await json_answer("explained ranks" if explain else "ranks", len(found.results), write)
    return with_truncated(answer, len(found.truncated))
