"""Bodies of /search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetPydanticSchema,
    JsonValue,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError, core_schema

from semblance.models.measures.highlight import HighlightOptions
from semblance.models.text import Truncate
from semblance.service.api.schemas.calibration import CalibrationField, MinProbability, Probability
from semblance.service.api.schemas.explain import ExplanationOut
from semblance.service.api.schemas.fields import (
    AtMostTexts,
    Bounded,
    FilterObject,
    Measure,
    NamedCollection,
    NamedDocument,
    Space,
    StrictBody,
    Text,
    Usage,
    VersionText,
    alternative,
    documented,
    one_of,
    require_one_of,
)
from semblance.service.api.schemas.matching import MAX_FACETS, FacetIn, FacetOut, FieldName, require_each_once
from semblance.service.api.schemas.warnings import Warnings
from semblance.service.usecases.search.ordering import Mode

MAX_PASSAGES = 20
MAX_GROUP = 100
_FORMS = 'give query, such as {"query": "a text"}, or queries, as a list of texts, or like, as the id of a document'


class SearchRequest(StrictBody):
    """Either `query`, `queries` or `like`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "my parcel never came", "k": 3, "filter": {"category": "shipping"}},
                {"queries": ["my parcel never came", "two bills"], "k": 1, "measure": "rcmd", "explain": True},
                {"query": "invoice E-4711", "mode": "auto"},
                {"like": "shipping-001", "group_by": "category", "facets": [{"field": "category"}]},
            ],
            "allOf": one_of(
                alternative({"query": "string"}, "queries", "like"),
                alternative({"queries": "array"}, "query", "like"),
                alternative({"like": "string"}, "query", "queries"),
            ),
        },
    )

    query: Text | None = None
    queries: Annotated[list[Text] | None, Bounded, AtMostTexts] = Field(None, min_length=1)
    like: NamedDocument | None = Field(
        None, description="Id of a document that takes the place of a query; of a long one, its first passage."
    )
    k: Annotated[int, documented(known_maximum="max_k")] = Field(10, ge=1, description="Number of hits.")
    collection: NamedCollection = "default"
    measure: Measure | None = Field(None, description="Null is the collection's own.")
    mode: Mode = Field(
        "vector",
        description="Whether documents are found by vector, by terms (lexical), or by both (hybrid); auto takes terms "
        "into account where a document has most of what the query says.",
    )
    candidates: Annotated[int | None, documented(known_maximum="max_candidates")] = Field(
        None,
        ge=1,
        description="Documents that a measure other than cosine rescores, or that terms find; null is 100, or k.",
    )
    passages: int = Field(1, ge=1, le=MAX_PASSAGES, description="Most passages of a hit.")
    min_score: float | None = Field(None, allow_inf_nan=False)
    min_probability: MinProbability = None
    filter: FilterObject | None = None
    explain: bool = False
    highlight: HighlightField = Field(
        None, description="Return the snippet of each hit that makes most of its score, with the words that do."
    )
    facets: list[FacetIn] = Field(
        default_factory=list,
        max_length=MAX_FACETS,
        description="Metadata fields whose values are counted, over all documents that pass filter and threshold.",
    )
    group_by: FieldName | None = Field(
        None,
        description="A metadata field: k of its values are returned, the best hits of each one after the other. "
        "Documents without a value are groups of their own.",
    )
    group_size: int = Field(1, ge=1, le=MAX_GROUP, description="Most hits of a group.")
    diversity: float = Field(
        0.0,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="How unlike each other the hits are, by maximal marginal relevance among the candidates.",
    )
    min_version: VersionText | None = Field(
        None, description="Answer from this version of the collection or a later one."
    )
    truncate: Truncate = "END"

    _known_form = require_one_of("query", "queries", "like", otherwise=_FORMS)
    _known_facets = model_validator(mode="after")(require_each_once)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if [self.query, self.queries, self.like].count(None) != 2:
            raise PydanticCustomError("invalid_request", _FORMS)
        if self.candidates is not None and self.candidates < self.k:
            raise PydanticCustomError("out_of_range", "candidates must not be less than k")
        if self.diversity and self.mode == "lexical":
            raise PydanticCustomError("invalid_value", "diversity needs scores of a measure: use another mode")
        if self.group_size > 1 and self.group_by is None:
            raise PydanticCustomError("invalid_value", "group_size needs group_by, a metadata field")
        return self


class PassageOut(BaseModel):
    """A passage of a document in the results; `start` and `end` count code points."""

    text: str
    start: int
    end: int
    score: float


class HighlightIn(StrictBody):
    """Sizes of the highlights."""

    chars: int = Field(240, ge=20, le=2000, description="Most characters of a snippet; a longer word is not cut.")
    marks: int = Field(5, ge=1, le=50, description="Most words that are marked.")


def _highlight(value: object, validate: ValidatorFunctionWrapHandler) -> HighlightOptions | None:
    """Take true or an object; the errors of a union would not name its fields."""
    match value:
        case None | False:
            return None
        case True:
            return HighlightOptions()
        case Mapping():
            given: HighlightIn = validate(value)
            return HighlightOptions(given.chars, given.marks)
        case _:
            form = 'it must be true, false, or an object such as {"chars": 160}'
            raise PydanticCustomError("invalid_value", "{form}", {"form": form})


HighlightField = Annotated[
    Any,
    GetPydanticSchema(lambda _, handler: core_schema.no_info_wrap_validator_function(_highlight, handler(HighlightIn))),
    WithJsonSchema({"anyOf": [{"type": ["boolean", "null"]}, HighlightIn.model_json_schema()]}),
]


class MarkOut(BaseModel):
    """Words of a document in code points, and words of the query, the strongest match first."""

    start: int
    end: int
    contribution: float
    query: list[str]


class HighlightOut(BaseModel):
    """The snippet of a hit: the marks' contributions, `rest` and `special` sum to `score`."""

    text: str
    start: int = Field(description="First code point of the snippet in the document.")
    end: int
    cut_start: bool = Field(description="Whether the document has text before the snippet.")
    cut_end: bool
    marks: list[MarkOut]
    rest: float = Field(description="Contribution of all other words of the passage.")
    special: float = Field(description="Contribution of special tokens.")
    score: float = Field(description="Of the passage, by the measure of the highlights.")
    measure: str


class TermOut(BaseModel):
    """A term of the query that a passage has."""

    term: str = Field(description="In lower case, without accents.")
    idf: float = Field(description="How rare it is among the passages of the collection.")
    tf: int = Field(description="How many times the passage has it.")
    score: float = Field(description="Its part of the score by BM25.")
    bonus: float = Field(description="Its part of the bonus.")
    spans: list[tuple[int, int]] = Field(description="Its places in the document, in code points.")


class TermMatchOut(BaseModel):
    """How the best passage of a document matches the query by its terms."""

    vector_rank: int | None = Field(
        description="Of the document among the candidates by vector, from 1; null if it is not among them."
    )
    term_rank: int | None = Field(description="The same by terms.")
    score: float = Field(description="By BM25: the sum of those of the terms.")
    bonus: float = Field(description="What the terms add to `score`, to order the hits: the sum of those of the terms.")
    combined: float | None = Field(description="Score and bonus, which order the hits; null in mode lexical.")
    terms: list[TermOut]


class HitOut(BaseModel):
    """A document in the results, with the text of its best passage."""

    id: str
    score: float = Field(description="That of the best passage, by the measure.")
    lexical: TermMatchOut | None = Field(None, description="Null where terms do not count.")
    probability: Probability = None
    text: str = Field(description="The best passage: all of a document that is not cut.")
    start: int = Field(description="First code point of that passage in the document.")
    end: int = Field(description="One past its last code point.")
    passages: list[PassageOut] = Field(
        description="The best passages, best first, the one above included; empty unless more than one was asked for."
    )
    metadata: dict[str, JsonValue]
    truncated: bool = Field(description="Whether the model did not read all of it.")
    highlight: HighlightOut | None = None
    explanation: ExplanationOut | None = None


class FacetsOut(BaseModel):
    """Documents that pass filter and threshold, and the values of their metadata."""

    count: int
    facets: list[FacetOut]
    exact: bool = Field(
        description="False if documents that were not scored may pass the threshold, too: only candidates are counted."
    )


class Hits(BaseModel):
    """Results of one query, best first."""

    hits: list[HitOut]
    facets: FacetsOut | None = Field(None, description="Null unless requested.")


class SearchResponse(BaseModel):
    """Results in the order of the queries."""

    results: list[Hits]
    model: str
    space: Space
    measure: str
    calibration: CalibrationField = None
    scored_from: Literal["index", "token_codes", "encoder"] = Field(
        description="Origin of the document vectors behind the scores: the index, the collection's token codes, "
        "or the encoder."
    )
    version: str
    truncated: list[bool] = Field(description="Whether each query was truncated.")
    warnings: Warnings
    usage: Usage
