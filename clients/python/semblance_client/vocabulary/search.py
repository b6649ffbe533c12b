"""/search: the documents most similar to a text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal, Self, TypeAlias, get_args

from pydantic import (
    ConfigDict,
    Field,
    GetPydanticSchema,
    JsonValue,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError, core_schema

from semblance_client.vocabulary.explanation import Explanation
from semblance_client.vocabulary.fields import (
    AtMostTexts,
    Bounded,
    FieldName,
    FilterObject,
    Measure,
    MinProbability,
    NamedCollection,
    NamedDocument,
    RequestBody,
    RerankModel,
    Text,
    TruncateField,
    VersionText,
    alternative,
    documented,
    one_of,
    require_one_of,
)
from semblance_client.vocabulary.matching import MAX_FACETS, FacetRequest, Facets, SortRequest, require_each_once
from semblance_client.vocabulary.prune import DroppedSentence, Keep, KeptSentence, KeptTotals
from semblance_client.vocabulary.responses import (
    Probability,
    ResponseBody,
    Scored,
    Usage,
    Warnings,
    row,
    shortened,
)
from semblance_client.vocabulary.terms import TermMatch

MAX_PASSAGES = 20
MAX_GROUP = 100
MAX_BOOSTS = 10
MAX_WEIGHT = 10.0  # of a text field
MAX_FIELDS = 1000  # of metadata to return
SHOWN_CHARS = 80  # of a text, in a line for a hit
_FORMS = 'give query, such as {"query": "a text"}, or queries, as a list of texts, or like, as the id of a document'

FieldWeight: TypeAlias = Annotated[float, Field(ge=0, le=MAX_WEIGHT)]
Mode: TypeAlias = Literal["vector", "lexical", "hybrid", "auto"]


class HighlightSizes(RequestBody):
    """Sizes of the highlights."""

    chars: int = Field(240, ge=20, le=2000)
    """Most characters of a snippet; a longer word is not cut."""
    marks: int = Field(5, ge=1, le=50)
    """Most words that are marked."""


def _highlight(value: object, validate: ValidatorFunctionWrapHandler) -> HighlightSizes | None:
    """Take true or an object; the errors of a union would not name its fields."""
    match value:
        case None | False:
            return None
        case True:
            return HighlightSizes()
        case Mapping() | HighlightSizes():
            sizes: HighlightSizes = validate(value)
            return sizes
        case _:
            form = 'it must be true, false, or an object such as {"chars": 160}'
            raise PydanticCustomError("invalid_value", "{form}", {"form": form})


HighlightField = Annotated[
    HighlightSizes | None,
    GetPydanticSchema(
        lambda _, handler: core_schema.no_info_wrap_validator_function(_highlight, handler(HighlightSizes))
    ),
    WithJsonSchema({"anyOf": [{"type": ["boolean", "null"]}, HighlightSizes.model_json_schema()]}),
]


class Boost(RequestBody):
    """A bonus by a date or a number in a metadata field, up to `weight`.

    With `half_life_days`, weight * 2^(-days / half_life_days); with `full_at`, weight * ln(1 + number) / ln(1 +
    full_at), at most the weight.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"field": "published", "half_life_days": 30, "weight": 0.1},
                {"field": "views", "full_at": 1000, "weight": 0.05},
            ],
            "oneOf": [{"required": ["half_life_days"]}, {"required": ["full_at"]}],
        }
    )

    field: FieldName
    """Metadata field with a date or a number."""
    weight: float = Field(ge=-1, le=1)
    """The most that it adds to a score; below 0 it subtracts."""
    half_life_days: float | None = Field(None, gt=0, allow_inf_nan=False)
    """The field has dates as ISO 8601 writes them, or seconds since 1970."""
    full_at: float | None = Field(None, gt=0, allow_inf_nan=False)
    """The number that has the whole weight."""
    origin: Annotated[datetime | None, Field(strict=False)] = None
    """The time from which dates are counted; null is now."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.half_life_days is None) == (self.full_at is None):
            raise PydanticCustomError("invalid_value", "give half_life_days for a date, or full_at for a number")
        return self


class SearchRequest(RequestBody):
    """Either `query`, `queries` or `like`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "my parcel never came", "k": 3, "filter": {"category": "shipping"}},
                {"queries": ["my parcel never came", "two bills"], "k": 1, "measure": "rcmd", "explain": True},
                {"query": "invoice E-4711", "mode": "lexical"},
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
    """The text that is searched for."""
    queries: Annotated[list[Text] | None, Bounded, AtMostTexts] = Field(None, min_length=1)
    """Several texts to search for."""
    like: NamedDocument | None = None
    """Id of a document that takes the place of a query; of a long one, its first passage."""
    k: Annotated[int, documented(known_maximum="max_k")] = Field(10, ge=1)
    """Number of hits."""
    offset: int = Field(0, ge=0)
    """Number of hits, or of groups, to leave out first; with `k`, at most the maximum of `k`."""
    collection: NamedCollection = "default"
    """Name of a collection, or an alias of one."""
    measure: Measure | None = None
    """Null is the collection's own."""
    mode: Mode | None = None
    """Whether documents are found by vector, by terms (lexical), or by both (hybrid); auto takes terms into account
    where a document has most of what the query says. Null is hybrid, or vector with `like` and in collections that are
    searched in a remote index."""
    typos: bool = True
    """Whether words that hardly any document has are read as near ones that documents have (not in mode vector), and
    phrases that none has as equal ones of the glossary (not in mode lexical)."""
    autocomplete: bool = False
    """Whether the last word, if no document has it, is read as the beginning of one; not in mode vector."""
    rerank_model: RerankModel | None = None
    """A second stage: this model reads the query with the best passage of each candidate, and orders the hits. Its
    score has no words; thresholds, highlights and explanations are of the first stage."""
    candidates: Annotated[int | None, documented(known_maximum="max_candidates")] = Field(None, ge=1)
    """Documents that a measure other than cosine or `rerank_model` rescores, or that terms find; null is 100, and
    doubles for later hits. With sort, group_by, diversity or rerank_model it is 100 or k, on every page."""
    passages: int = Field(1, ge=1, le=MAX_PASSAGES)
    """Most passages of a hit."""
    min_score: float | None = Field(None, allow_inf_nan=False)
    """Least score of a hit, by the measure."""
    min_probability: MinProbability = None
    filter: FilterObject = None
    explain: bool = False
    """Whether to return the parts of each score by words."""
    highlight: HighlightField = None
    """Return the snippet of each hit that makes most of its score, with the words that do."""
    keep: Keep | None = None
    """Return the sentences of the hits' passages that together keep a share of the score, or as much of it as fits into
    some tokens, and those that are dropped; of several hits that say the same, one keeps it."""
    facets: list[FacetRequest] = Field(default_factory=list, max_length=MAX_FACETS)
    """Metadata fields whose values are counted, over all documents that pass filter and threshold."""
    group_by: FieldName | None = None
    """A metadata field: k of its values are returned, the best hits of each one after the other. Documents without a
    value are groups of their own."""
    group_size: int = Field(1, ge=1, le=MAX_GROUP)
    """Most hits of a group."""
    sort: SortRequest | None = None
    """A metadata field that orders the candidates that pass the threshold, in place of their scores."""
    fields: list[FieldName] | None = Field(None, max_length=MAX_FIELDS)
    """Metadata fields to return; null is all."""
    boosts: list[Boost] = Field(default_factory=list, max_length=MAX_BOOSTS)
    """Amounts that dates and numbers add to the score that orders the candidates; not in mode lexical."""
    field_weights: dict[FieldName, FieldWeight] = Field(default_factory=dict, examples=[{"title": 1.5}])
    """Weights of passages by the collection's text fields, and `text`; 1 where none is given. A weight multiplies what
    score and terms add up to, to choose the best passage and to order the hits; not in mode lexical."""
    diversity: float = Field(0.0, ge=0, le=1, allow_inf_nan=False)
    """Weight of the differences between hits, by maximal marginal relevance among the candidates."""
    min_version: VersionText = None
    """Answer from this version of the collection or a later one."""
    truncate: TruncateField = None

    _known_form = require_one_of("query", "queries", "like", otherwise=_FORMS)
    _known_facets = model_validator(mode="after")(require_each_once)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if [self.query, self.queries, self.like].count(None) != 2:
            raise PydanticCustomError("invalid_request", _FORMS)
        if self.candidates is not None and self.candidates < self.k + self.offset:
            raise PydanticCustomError("out_of_range", "candidates must not be less than offset and k")
        if self.diversity and self.mode == "lexical":
            raise PydanticCustomError("invalid_value", "diversity needs scores of a measure: use another mode")
        if [bool(self.sort), bool(self.diversity or self.boosts), self.rerank_model is not None].count(True) > 1:
            detail = "give one order of the hits: sort, rerank_model, or diversity and boosts"
            raise PydanticCustomError("invalid_value", detail)
        if (self.boosts or self.field_weights) and self.mode == "lexical":
            detail = "boosts and field_weights change scores of a measure: use another mode"
            raise PydanticCustomError("invalid_value", detail)
        if self.rerank_model is not None and self.like is not None:
            raise PydanticCustomError("invalid_value", "rerank_model needs query or queries in place of like")
        if self.group_size > 1 and self.group_by is None:
            raise PydanticCustomError("invalid_value", "group_size needs group_by, a metadata field")
        return self


class Passage(ResponseBody):
    """A passage of a document in the results; `start` and `end` count code points."""

    text: str
    """The passage."""
    start: int
    """First code point in the text."""
    end: int
    """One past the last code point."""
    field: str | None = None
    """The metadata field that it is of; null if it is of the text."""
    score: float
    """Its similarity to the query."""


class Mark(ResponseBody):
    """Words of a document in code points, and words of the query, the strongest match first."""

    start: int
    """First code point in the document."""
    end: int
    """One past the last code point."""
    contribution: float
    """The part of the score."""
    query: list[str]
    """Words of the query that it matches, the strongest first."""


class Highlight(ResponseBody):
    """The snippet of a hit: the marks' contributions, `rest` and `special` sum to `score`."""

    text: str
    """The snippet."""
    start: int
    """First code point of the snippet in the document."""
    end: int
    """One past its last code point."""
    cut_start: bool
    """Whether the document has text before the snippet."""
    cut_end: bool
    """Whether the document has text after the snippet."""
    marks: list[Mark]
    """Words that make the score, the strongest first."""
    rest: float
    """Contribution of all other words of the passage."""
    special: float
    """Contribution of special tokens."""
    score: float
    """Of the passage, by the measure of the highlights."""
    measure: str
    """Measure of the highlights."""


class BoostPart(ResponseBody):
    """The part of a boost, or of the weight of a text field, in the order of a document."""

    field: str
    """The metadata field, or the text field that has a weight."""
    bonus: float
    """What it adds to the score."""


class DroppedHitSentence(DroppedSentence):
    """A sentence of a hit that is left out.

    Positions count code points, in the document or in `field`.
    """

    field: str | None = None
    """The text field that it is of; null if it is of the text."""


class KeptHitSentence(KeptSentence):
    """A sentence of a hit that is kept.

    Positions count code points, in the document or in `field`.
    """

    field: str | None = None
    """The text field that it is of; null if it is of the text."""


class HitSentences(ResponseBody):
    """The sentences of a hit's passages, in the order of the document."""

    kept: list[KeptHitSentence]
    """The sentences to read on; none of a hit that adds nothing to others."""
    dropped: list[DroppedHitSentence]
    """Sentences that are left out."""
    tokens: int
    """Of all its sentences, special tokens not included."""


class Hit(ResponseBody):
    """A document in the results, with the text of its best passage."""

    id: str
    """Id of the document."""
    score: float
    """That of the best passage, by the measure."""
    rerank_score: float | None = None
    """Score of the best passage by `rerank_model`, by which hits are ordered; not explained. Null without one."""
    lexical: TermMatch | None = None
    """Null where terms do not count."""
    boosts: list[BoostPart] = Field(default_factory=list)
    """Added to `score` to order the hits, in the order of the request; that of `field_weights` comes first."""
    probability: Probability = None
    text: str
    """The best passage: all of a document that is not cut."""
    start: int
    """First code point of that passage in the document, or in `field`."""
    end: int
    """One past its last code point."""
    field: str | None = None
    """The text field of the collection that the passage is of, in which all places of the hit are; null if it is of the
    text."""
    passages: list[Passage]
    """The best passages, best first, the one above included; empty unless more than one was asked for."""
    metadata: dict[str, JsonValue]
    """Its metadata, or those of `fields`."""
    truncated: bool
    """Whether the model did not read all of it."""
    highlight: Highlight | None = None
    """Its snippet; null unless asked for."""
    sentences: HitSentences | None = None
    """Null without `keep`."""
    explanation: Explanation | None = None
    """The parts of the score by words; null unless asked for."""

    def __str__(self) -> str:
        return f"{self.id}  {self.score:.4f}  {shortened(' '.join(self.text.split()), SHOWN_CHARS)}"

    def record(self) -> dict[str, JsonValue]:
        """Id, scores, text and metadata as one row of a table, such as of `pandas.DataFrame`."""
        columns = {name: getattr(self, name) for name in ("id", "score", "rerank_score", "probability", "text")}
        return row(columns, self.metadata)


class Hits(ResponseBody):
    """Results of one query, best first."""

    hits: list[Hit]
    """Documents, best first."""
    facets: Facets | None = None
    """Null unless requested."""
    kept: KeptTotals | None = None
    """What the kept sentences of all hits add up to; null without `keep`."""
    codes: list[str] = Field(default_factory=list)
    """Codes of the query, such as part numbers and dates, that at most three documents have, or one in a thousand of
    those that may be read; of a query of nothing else, all. Documents with all of them come first, then those with
    some. Empty in mode vector."""
    read_as: str | None = None
    """The query that was searched in place of the one that was sent: a word that hardly any document has is replaced by
    one that differs in a letter or two, or begins so, a phrase that none has by an equal one of the glossary. Null if
    nothing is replaced."""
    no_good_match: bool | None = None
    """Whether no document is nearer to the query by vector and terms than the nearest ones of most questions about
    everything, and none has one of its codes: then they hardly answer it. Null in modes vector and lexical, with
    `like`, and in other languages than English, German, French, Spanish and Chinese."""
    missing_terms: list[str] = Field(default_factory=list)
    """Words and codes of the query that no document has that may be read and passes the filter; without function
    words. Empty in mode vector."""

    def __str__(self) -> str:
        return "\n".join(f"{rank:>2}  {hit}" for rank, hit in enumerate(self.hits, 1))


class SearchResults(Scored):
    """Results in the order of the queries."""

    results: list[Hits]
    """Hits of each query, in the order of the queries."""
    rerank_model: str | None = None
    """The model that orders the hits; null if the measure does."""
    mode: Annotated[str, documented(enum=get_args(Mode))]
    """The mode that was used."""
    scored_from: Annotated[str, documented(enum=["index", "token_codes", "encoder"])]
    """Origin of the document vectors behind the scores: the index, the collection's token codes, or the encoder."""
    version: str
    """Of the collection that was searched."""
    truncated: list[bool]
    """Whether each query was truncated."""
    warnings: Warnings
    usage: Usage
    """What the request cost."""

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.results))

    @property
    def hits(self) -> list[Hit]:
        """The hits of the only query. Raises ValueError if there were several."""
        if len(self.results) != 1:
            raise ValueError(f"there are results of {len(self.results)} queries: read results[i].hits")
        return self.results[0].hits
