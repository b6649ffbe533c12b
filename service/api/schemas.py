"""The bodies of requests and answers, and how what the use cases return becomes one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from models.explanation import LinkList
from models.text import Granularity, Truncate, Unit
from service.api.text_types import (
    Bounded,
    DocumentId,
    FilterObject,
    MetadataObject,
    Text,
    VersionText,
)
from service.ports import Collection, CollectionSize, Document, TokenStorage
from service.usecases.explain import Explained
from service.usecases.measures import DEFAULT_LINKS

MAX_FIELDS = 100  # of an object in a request, metadata aside

Measure = Annotated[Text, Field(description="One of the measures that GET /models lists.", examples=["rcmd"])]


class Request(BaseModel):
    """A body that is read strictly: what is not known is refused."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, given: object) -> object:
        """Refuse an endless object before its fields are looked at: each would be an error message of its own."""
        if isinstance(given, Mapping) and len(given) > MAX_FIELDS:
            raise PydanticCustomError("unknown_field", "it has more than {most} fields", {"most": MAX_FIELDS})
        return given


class Usage(BaseModel):
    """What a request cost."""

    tokens: int = Field(description="Tokens of all its texts, special tokens included.")


# /similarity


class Pair(Request):
    """Two texts to compare."""

    a: Text
    b: Text


class SimilarityRequest(Request):
    """Either `pairs`, or `left` and `right` for a matrix."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"pairs": [{"a": "A man is playing a guitar.", "b": "Someone plays an instrument."}], "measure": "rcmd"}
            ]
        },
    )

    pairs: Annotated[list[Pair] | None, Bounded] = Field(None, min_length=1)
    left: Annotated[list[Text] | None, Bounded] = Field(None, min_length=1)
    right: Annotated[list[Text] | None, Bounded] = Field(None, min_length=1)
    measure: Measure = "cosine"
    model: Text | None = Field(None, description="A served model; null is the default one.")
    explain: bool = Field(False, description="Add the words that made each score (pairs only).")
    truncate: Truncate = Field("END", description="Which end of a text too long gives way; NONE refuses it.")

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        matrix = self.left is not None and self.right is not None
        if (self.left is None) != (self.right is None) or matrix == (self.pairs is not None):
            raise PydanticCustomError("invalid_request", "give either pairs, or both left and right")
        if matrix and self.explain:
            raise PydanticCustomError("invalid_request", "explain needs pairs")
        return self


class Token(BaseModel):
    """A stretch of a text: a word, or a token."""

    text: str
    start: int = Field(description="First character, counted from 0 in Unicode code points.")
    end: int = Field(description="One past its last character.")


class Side(BaseModel):
    """One of the two texts, cut into what links join."""

    text: str
    tokens: list[Token]


class LinkOut(BaseModel):
    """A join of token `a` of the one text with token `b` of the other, by their positions."""

    a: int
    b: int
    similarity: float
    contribution: float


class ExplanationOut(BaseModel):
    """A score in parts: the links' contributions, `special` and `omitted` sum to it."""

    score: float
    measure: str
    granularity: Granularity
    a: Side
    b: Side
    links: list[LinkOut] = Field(description="Largest absolute contribution first.")
    special: float = Field(description="What touches special or prompt tokens.")
    omitted: float = Field(description="What the links left out would add.")


class SimilarityResponse(BaseModel):
    """Scores in the order of the request; rows of `left` in a matrix."""

    model: str
    space: str
    measure: str
    scores: list[float] | list[list[float]]
    truncated: list[bool] = Field(
        description="Whether a text of each pair was cut; in a matrix, left then right texts."
    )
    explanations: list[ExplanationOut] | None = None
    usage: Usage


# /search


class SearchRequest(Request):
    """Either `query` or `queries`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"query": "my parcel never came", "k": 3, "filter": {"category": "shipping"}}]},
    )

    query: Text | None = None
    queries: Annotated[list[Text] | None, Bounded] = Field(None, min_length=1)
    k: int = Field(10, ge=1, description="Hits wanted.")
    collection: Text = "default"
    measure: Measure | None = Field(None, description="Null is the collection's own.")
    candidates: int | None = Field(
        None, ge=1, description="Nearest by vector that another measure than cosine scores anew; null is 100, or k."
    )
    min_score: float | None = Field(None, allow_inf_nan=False)
    filter: FilterObject | None = None
    explain: bool = False
    min_version: VersionText | None = Field(
        None, description="Answer from this version of the collection or a later one."
    )
    truncate: Truncate = "END"

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.query is None) == (self.queries is None):
            raise PydanticCustomError("invalid_request", "give either query or queries")
        if self.candidates is not None and self.candidates < self.k:
            raise PydanticCustomError("out_of_range", "candidates must not be less than k")
        return self


class HitOut(BaseModel):
    """A document found."""

    id: str
    score: float
    text: str
    metadata: dict[str, JsonValue]
    explanation: ExplanationOut | None = None


class Hits(BaseModel):
    """What was found for one query, best first."""

    hits: list[HitOut]


class SearchResponse(BaseModel):
    """Results in the order of the queries."""

    results: list[Hits]
    model: str
    space: str
    measure: str
    scored_from: Literal["index", "token_codes", "encoder"] = Field(
        description="Which vectors of the documents made the scores: those of the index, the collection's token codes, "
        "or fresh ones."
    )
    version: str
    truncated: list[bool] = Field(description="Whether each query was cut.")
    usage: Usage


# /explain


class ExplainRequest(Request):
    """Text `a`, and either text `b` or the `id` of a document."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"a": "A cat sits outside.", "b": "A kitten is in the garden."}]},
    )

    a: Text
    b: Text | None = None
    id: Text | None = Field(None, description="A document that stands for b.")
    collection: Text = Field("default", description="Where that document is.")
    measure: Measure = "rcmd"
    model: Text | None = None
    format: Literal["json", "svg", "png", "html"] | None = Field(None, description="Null goes by the Accept header.")
    granularity: Granularity = "word"
    max_links: int | None = Field(
        None, ge=0, description=f"Strongest links to keep; null is {DEFAULT_LINKS} in JSON and all in pictures."
    )
    truncate: Truncate = "END"

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.b is None) == (self.id is None):
            raise PydanticCustomError("invalid_request", "give either b, or the id of a document")
        if self.id is not None and self.model is not None:
            raise PydanticCustomError("invalid_request", "a document is compared by its collection's model: drop model")
        return self


class ExplainResponse(ExplanationOut):
    """An explanation, and what made it."""

    model: str
    space: str
    truncated: bool


# /collections


class CollectionRequest(Request):
    """What a collection is to be; it cannot change later."""

    model: Text | None = Field(None, description="A served model; null is the default one.")
    measure: Measure = "cosine"
    index: Text = Field("faiss_flat", description="An index engine.", examples=["faiss_flat", "exact"])
    tokens: TokenStorage = Field("none", description="Keep token vectors as int8, so that rcmd need not encode anew.")


class CollectionOut(BaseModel):
    """A collection and how much it holds."""

    name: str
    count: int = Field(description="Documents in it.")
    version: str
    model: str
    space: str
    dim: int
    measure: str
    index: str
    tokens: TokenStorage
    bytes_per_document: float = Field(description="Of vectors and token codes.")
    token_error: float | None = Field(description="Most that a score from token codes can be off; null without.")


class CollectionList(BaseModel):
    """All collections, by name."""

    collections: list[CollectionOut]


class DocumentIn(Request):
    """A document to store."""

    id: DocumentId
    text: Text
    metadata: MetadataObject = {}


class DocumentsRequest(Request):
    """Documents to store together, all or none."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"documents": [{"id": "1", "text": "A text.", "metadata": {"lang": "en"}}]}]},
    )

    documents: Annotated[list[DocumentIn], Bounded] = Field(min_length=1)


class DocumentsResponse(BaseModel):
    """What was stored, and the version that holds it."""

    upserted: int
    version: str
    truncated: list[str] = Field(description="Ids of documents whose text was cut to fit the encoder.")
    usage: Usage


class DocumentOut(BaseModel):
    """A stored document."""

    id: str
    text: str
    metadata: dict[str, JsonValue]
    truncated: bool


class DocumentList(BaseModel):
    """A page of documents by id; `cursor` asks for the next, null on the last."""

    documents: list[DocumentOut]
    cursor: str | None


class Deleted(BaseModel):
    """The version that no longer holds the document."""

    deleted: int
    version: str


# /models, /live, /ready


class ModelOut(BaseModel):
    """A served model. What only the loaded network tells is null until its first use."""

    name: str
    default: bool
    loaded: bool
    space: str
    pooling: str
    dim: int | None
    max_tokens: int | None
    build: str | None


class MeasureOut(BaseModel):
    """A measure that requests may name."""

    name: str
    summary: str
    reference: str
    bounds: tuple[float, float]
    symmetric: bool
    explainable: bool


class ModelList(BaseModel):
    """What is served, and what it can be compared with."""

    models: list[ModelOut]
    measures: list[MeasureOut]


class Live(BaseModel):
    """The process runs."""

    status: Literal["live"] = "live"


class Ready(BaseModel):
    """Whether requests should come here, and each thing that decides it."""

    status: Literal["ready", "not_ready"]
    checks: dict[str, bool]


def explanation_out(
    links: LinkList, measure: str, texts: tuple[str, str], granularity: Granularity = "word"
) -> ExplanationOut:
    """The links of a score as JSON."""
    return ExplanationOut(
        score=links.score,
        measure=measure,
        granularity=granularity,
        a=Side(text=texts[0], tokens=_tokens(links.left)),
        b=Side(text=texts[1], tokens=_tokens(links.right)),
        links=[
            LinkOut(a=link.left, b=link.right, similarity=link.similarity, contribution=link.contribution)
            for link in links.links
        ],
        special=links.special,
        omitted=links.omitted,
    )


def explain_response(explained: Explained, wanted: ExplainRequest) -> ExplainResponse:
    """The answer to /explain as JSON."""
    max_links = DEFAULT_LINKS if wanted.max_links is None else wanted.max_links
    links = explained.explanation.link_list(max_links)
    out = explanation_out(links, wanted.measure, (explained.a, explained.b), wanted.granularity)
    return ExplainResponse(
        **dict(out), model=explained.encoder.name, space=explained.encoder.space, truncated=explained.truncated
    )


def collection_out(collection: Collection, size: CollectionSize) -> CollectionOut:
    """A collection as JSON."""
    settings = collection.settings
    return CollectionOut(
        name=collection.name,
        count=size.documents,
        version=str(collection.version),
        model=settings.model,
        space=settings.space,
        dim=settings.dim,
        measure=settings.measure,
        index=settings.index,
        tokens=settings.tokens,
        bytes_per_document=size.bytes_per_document,
        token_error=size.token_error,
    )


def document_out(document: Document) -> DocumentOut:
    """A document as JSON."""
    return DocumentOut(
        id=document.id, text=document.text, metadata=dict(document.metadata), truncated=document.truncated
    )


def _tokens(units: tuple[Unit, ...]) -> list[Token]:
    return [Token(text=unit.text, start=unit.start, end=unit.end) for unit in units]
