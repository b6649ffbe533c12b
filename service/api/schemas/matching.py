"""Bodies of /collections/{name}/count, /list, /map and /delete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Protocol, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from semblance.service.api.schemas.documents import Deleted, DocumentOut
from semblance.service.api.schemas.fields import (
    CURSOR_PATTERN,
    Bounded,
    FilterObject,
    NamedDocument,
    StrictBody,
    String,
    VersionText,
    alternative,
    documented,
    one_of,
    require_one_of,
)
from semblance.service.api.schemas.warnings import Warnings
from semblance.service.ports.indexes import Facet

MAX_FACETS = 20
MAX_VALUES = 1000
MAX_PAGE = 1000  # documents
MAX_POINTS = 5000  # of a map
_FORMS = 'give either ids, such as {"ids": ["1"]}, or a filter, such as {"filter": {"category": "shipping"}}'

FieldName = Annotated[String, Field(min_length=1, max_length=256)]
Cursor = Annotated[str, documented(pattern=CURSOR_PATTERN)]


class FacetIn(StrictBody):
    """A metadata field whose values are counted."""

    field: FieldName
    values: int = Field(10, ge=1, le=MAX_VALUES, description="Most values to return, the most frequent ones.")


class WithFacets(Protocol):
    """A body with facets."""

    facets: list[FacetIn]


Body = TypeVar("Body", bound=WithFacets)


def require_each_once(body: Body) -> Body:
    """Validator of a body with facets, each of another field."""
    if len({facet.field for facet in body.facets}) < len(body.facets):
        raise PydanticCustomError("invalid_value", "a field may be counted only once: give each facet another")
    return body


class CountRequest(StrictBody):
    """What to count."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"filter": {"category": "shipping"}, "facets": [{"field": "category"}]}, {}],
        },
    )

    filter: FilterObject | None = None
    facets: list[FacetIn] = Field(default_factory=list, max_length=MAX_FACETS, description="Each field once.")
    min_version: VersionText | None = Field(None, description="Count in this version of the collection or a later one.")

    _known_facets = model_validator(mode="after")(require_each_once)


class FacetValueOut(BaseModel):
    """A value, and the number of documents that have it: of a list, each entry counts."""

    value: str | int | float | bool | None
    count: int


class FacetOut(BaseModel):
    """The most frequent values of a field, and the number of different ones."""

    field: str
    values: list[FacetValueOut]
    distinct: int


class CountResponse(BaseModel):
    """Number of matching documents, and the values of their metadata; all exact."""

    count: int
    facets: list[FacetOut]
    version: str
    warnings: Warnings


class OrderIn(StrictBody):
    """A metadata field that sorts documents: by type of its values, then by value."""

    field: FieldName
    descending: bool = False


class ListRequest(StrictBody):
    """Which documents to list, and in which order."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"filter": {"category": "shipping"}, "sort": {"field": "views", "descending": True}}, {}],
        },
    )

    filter: FilterObject | None = None
    sort: OrderIn | None = Field(None, description="Null sorts by id; documents without a value come last.")
    limit: int = Field(100, ge=1, le=MAX_PAGE)
    offset: int = Field(0, ge=0, description="Documents to leave out first.")
    cursor: Cursor | None = Field(None, description="From the previous page, in place of an offset.")
    min_version: VersionText | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.offset and self.cursor:
            raise PydanticCustomError("invalid_request", "give either a cursor or an offset")
        return self


class ListResponse(BaseModel):
    """A page of documents."""

    documents: list[DocumentOut]
    cursor: str | None = Field(description="Asks for the next page; null on the last.")
    version: str
    warnings: Warnings


class MapRequest(StrictBody):
    """Which documents to map."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"field": "category"}, {}]})

    filter: FilterObject | None = None
    field: FieldName | None = Field(None, description="Metadata field whose value each point gets.")
    limit: int = Field(MAX_POINTS, ge=1, le=MAX_POINTS, description="Most points; of more documents, an even sample.")
    min_version: VersionText | None = Field(None, description="Map this version of the collection or a later one.")


class MapPointOut(BaseModel):
    """A document, and its place."""

    id: str
    x: float
    y: float
    text: str = Field(description="Its first 200 characters.")
    value: str | int | float | bool | None = Field(description="Of the field; of a list, its first entry.")


class MapResponse(BaseModel):
    """Documents as points in the plane."""

    points: list[MapPointOut]
    documents: int = Field(description="Number of matching documents, of which some may have no point.")
    explained: list[float] = Field(description="Shares of the variance of the vectors along x and y.")
    version: str
    warnings: Warnings


class DeleteRequest(StrictBody):
    """Documents to delete: either `ids` or those that match `filter`."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"ids": ["1", "2"]}, {"filter": {"category": "shipping"}}],
            "allOf": one_of(alternative({"ids": "array"}, "filter"), alternative({"filter": "object"}, "ids")),
        },
    )

    ids: Annotated[list[NamedDocument] | None, Bounded, documented(known_maxItems="max_documents")] = Field(
        None, min_length=1
    )
    filter: FilterObject | None = None
    min_version: VersionText | None = Field(None, description="Filter this version of the collection or a later one.")

    _known_form = require_one_of("ids", "filter", otherwise=_FORMS)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.ids is None) == (self.filter is None):
            raise PydanticCustomError("invalid_request", _FORMS)
        return self


class DeleteResponse(Deleted):
    """Number of deleted documents, and the version without them."""

    warnings: Warnings


def facets_out(facets: Mapping[str, Facet]) -> list[FacetOut]:
    """Facets as JSON."""
    return [
        FacetOut(
            field=field,
            values=[FacetValueOut(value=each.value, count=each.documents) for each in facet.values],
            distinct=facet.distinct,
        )
        for field, facet in facets.items()
    ]
