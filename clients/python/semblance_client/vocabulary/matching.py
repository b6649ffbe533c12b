"""/collections/{name}/count, /list, /map and /delete: the documents that match a filter."""

from __future__ import annotations

from typing import Annotated, Protocol, Self, TypeAlias, TypeVar

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from semblance_client.vocabulary.documents import DocumentPage
from semblance_client.vocabulary.fields import (
    AtMostDocuments,
    Bounded,
    Cursor,
    FieldName,
    FilterObject,
    NamedDocument,
    RequestBody,
    Scalar,
    String,
    VersionText,
    alternative,
    one_of,
    require_one_of,
)
from semblance_client.vocabulary.responses import ResponseBody, Warnings

MAX_FACETS = 20
MAX_VALUES = 1000
MAX_RANGES = 50  # of a facet
MAX_PAGE = 1000  # documents
MAX_POINTS = 5000  # of a map
_FORMS = 'give either ids, such as {"ids": ["1"]}, or a filter, such as {"filter": {"category": "shipping"}}'


Bound: TypeAlias = Annotated[float, Field(allow_inf_nan=False)] | String | None


class ValueRange(RequestBody):
    """Bounds of values: numbers, or strings such as dates."""

    gt: Bound = None
    """Greater than this."""
    gte: Bound = None
    """Greater than or equal to this."""
    lt: Bound = None
    """Less than this."""
    lte: Bound = None
    """Less than or equal to this."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        bounds = [each for each in (self.gt, self.gte, self.lt, self.lte) if each is not None]
        if not bounds or None not in (self.gt, self.gte) or None not in (self.lt, self.lte):
            raise PydanticCustomError("invalid_value", "give one lower bound, one upper bound, or one of each")
        if len({isinstance(each, str) for each in bounds}) > 1:
            raise PydanticCustomError("invalid_value", "the bounds must both be numbers or both be strings")
        return self


class FacetRequest(RequestBody):
    """A metadata field whose values are counted."""

    field: FieldName
    """Name of the metadata field."""
    values: int = Field(10, ge=0, le=MAX_VALUES)
    """Most values to return, the most frequent ones."""
    ranges: list[ValueRange] = Field(default_factory=list, max_length=MAX_RANGES)
    """Ranges of values whose documents are counted; they may overlap."""


class WithFacets(Protocol):
    """A body with facets."""

    facets: list[FacetRequest]


Body = TypeVar("Body", bound=WithFacets)


def require_each_once(body: Body) -> Body:
    """Validator of a body with facets, each of another field."""
    if len({facet.field for facet in body.facets}) < len(body.facets):
        raise PydanticCustomError("invalid_value", "a field may be counted only once: give each facet another")
    return body


class CountRequest(RequestBody):
    """Documents to count, and metadata fields."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"filter": {"category": "shipping"}, "facets": [{"field": "category"}]},
                {"facets": [{"field": "price", "values": 0, "ranges": [{"lt": 10}, {"gte": 10, "lt": 50}]}]},
                {},
            ],
        },
    )

    filter: FilterObject = None
    facets: list[FacetRequest] = Field(default_factory=list, max_length=MAX_FACETS)
    """Each field once."""
    min_version: VersionText = None
    """Count in this version of the collection or a later one."""

    _known_facets = model_validator(mode="after")(require_each_once)


class FacetValue(ResponseBody):
    """A value, and the number of documents that have it: of a list, each entry counts."""

    value: Scalar
    """The value."""
    count: int
    """Number of documents that have it."""


class Facet(ResponseBody):
    """The most frequent values of a field, and the number of different ones."""

    field: str
    """Name of the metadata field."""
    values: list[FacetValue]
    """The most frequent values."""
    distinct: int
    """Number of different values."""
    ranges: list[int] = Field(default_factory=list)
    """Number of documents with a value in each of the ranges that were asked for, in their order."""


class Facets(ResponseBody):
    """Number of documents, and the values of their metadata."""

    count: int
    """Number of documents."""
    facets: list[Facet]
    """The values of each field that was asked for."""
    exact: bool = True
    """False if documents that were not scored may pass the threshold, too: only candidates are counted."""

    def values(self, field: str) -> dict[Scalar, int]:
        """Number of documents by value of a field that was asked for."""
        [facet] = [facet for facet in self.facets if facet.field == field]
        return {counted.value: counted.count for counted in facet.values}


class Counted(Facets):
    """Number of matching documents, and the values of their metadata; all exact."""

    version: str
    """Version of the collection, for `min_version` and `if_version`."""
    warnings: Warnings


class SortRequest(RequestBody):
    """A metadata field that sorts documents: by type of its values, then by value."""

    field: FieldName
    """Name of the metadata field."""
    descending: bool = False
    """Whether the largest value comes first."""


class ListRequest(RequestBody):
    """Which documents to list, and in which order."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"filter": {"category": "shipping"}, "sort": {"field": "views", "descending": True}}, {}],
        },
    )

    filter: FilterObject = None
    sort: SortRequest | None = None
    """Null sorts by id; documents without a value come last."""
    limit: int = Field(100, ge=1, le=MAX_PAGE)
    """Most documents of a page."""
    offset: int = Field(0, ge=0)
    """Documents to leave out first."""
    cursor: Cursor | None = None
    """From the previous page, in place of an offset."""
    min_version: VersionText = None
    """Answer from this version of the collection or a later one."""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.offset and self.cursor:
            raise PydanticCustomError("invalid_request", "give either a cursor or an offset")
        return self


class MatchingDocuments(DocumentPage):
    """A page of documents that match, and the version in which they do."""

    version: str
    """Version of the collection, for `min_version` and `if_version`."""
    warnings: Warnings


class MapRequest(RequestBody):
    """Which documents to map."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"field": "category"}, {}]})

    filter: FilterObject = None
    field: FieldName | None = None
    """Metadata field whose value each point gets."""
    limit: int = Field(MAX_POINTS, ge=1, le=MAX_POINTS)
    """Most points; of more documents, an even sample."""
    min_version: VersionText = None
    """Map this version of the collection or a later one."""


class MapPoint(ResponseBody):
    """A document, and its place."""

    id: str
    """Id of the document."""
    x: float
    """Place along the first principal component."""
    y: float
    """Place along the second one."""
    text: str
    """Its first 200 characters."""
    value: Scalar
    """Of the field; of a list, its first entry."""


class DocumentMap(ResponseBody):
    """Documents as points in the plane."""

    points: list[MapPoint]
    """A point for each document that is shown."""
    documents: int
    """Number of matching documents, of which some may have no point."""
    explained: list[float]
    """Shares of the variance of the vectors along x and y."""
    version: str
    """Version of the collection, for `min_version` and `if_version`."""
    warnings: Warnings


class DeleteRequest(RequestBody):
    """Documents to delete: either `ids` or those that match `filter`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"ids": ["1", "2"]}, {"filter": {"category": "shipping"}}],
            "allOf": one_of(alternative({"ids": "array"}, "filter"), alternative({"filter": "object"}, "ids")),
        },
    )

    ids: Annotated[list[NamedDocument] | None, Bounded, AtMostDocuments] = Field(None, min_length=1)
    """Ids of documents to delete; unknown ones are left out."""
    filter: FilterObject = None
    min_version: VersionText = None
    """Filter this version of the collection or a later one."""

    _known_form = require_one_of("ids", "filter", otherwise=_FORMS)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.ids is None) == (self.filter is None):
            raise PydanticCustomError("invalid_request", _FORMS)
        return self
