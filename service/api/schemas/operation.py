"""Bodies of /models, /live and /ready."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from semblance.models.embeddings import Precision
from semblance.service.api.schemas.calibration import CalibrationOut
from semblance.service.api.schemas.fields import Space


class CalibratedMeasure(CalibrationOut):
    """A measure whose scores come with probabilities."""

    measure: str


class ModelOut(BaseModel):
    """A served model. What is known only once it is loaded is null until its first use."""

    name: str
    default: bool
    loaded: bool
    space: Space
    pooling: str
    dim: int | None
    max_tokens: int | None
    build: str | None
    precision: Precision | None
    calibrations: list[CalibratedMeasure]


class MeasureOut(BaseModel):
    """A measure that requests may name."""

    name: str
    summary: str
    reference: str
    bounds: tuple[float | None, float | None] = Field(
        description="The smallest and the largest score; null where there is none, as for a negative distance."
    )
    symmetric: bool
    explainable: bool


class ModelList(BaseModel):
    """The served models, and the measures that compare their vectors."""

    models: list[ModelOut]
    measures: list[MeasureOut]


class ModelCard(BaseModel):
    """A model in the shape of OpenAI's API."""

    id: str
    object: Literal["model"] = "model"
    created: int = Field(description="Unix time from which this process serves it.")
    owned_by: Literal["semblance"] = "semblance"


class ModelCards(BaseModel):
    """Models in the shape of OpenAI's API."""

    object: Literal["list"] = "list"
    data: list[ModelCard]


class Live(BaseModel):
    """The process runs."""

    status: Literal["live"] = "live"


class Ready(BaseModel):
    """Whether requests should come here, and the result of each check."""

    status: Literal["ready", "degraded", "not_ready"]
    checks: dict[str, bool]
