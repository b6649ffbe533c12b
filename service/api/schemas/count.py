"""Bodies of /collections/{name}/count."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from semblance.service.api.schemas.fields import FilterObject, StrictBody, String, VersionText
from semblance.service.api.schemas.warnings import Warnings

MAX_FACETS = 20
MAX_VALUES = 1000


class FacetIn(StrictBody):
    """A metadata field whose values are counted."""

    field: Annotated[String, Field(min_length=1, max_length=256)]
    values: int = Field(10, ge=1, le=MAX_VALUES, description="Most values to return, the most frequent ones.")


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

    @model_validator(mode="after")
    def _each_field_once(self) -> Self:
        if len({facet.field for facet in self.facets}) < len(self.facets):
            raise PydanticCustomError("invalid_value", "a field may be counted only once: give each facet another")
        return self


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
