"""Bodies of /collections/{name}/map."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from semblance.service.api.schemas.fields import FilterObject, StrictBody, VersionText
from semblance.service.api.schemas.matching import FieldName
from semblance.service.api.schemas.warnings import Warnings

MAX_POINTS = 5000


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
