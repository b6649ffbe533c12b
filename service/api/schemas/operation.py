"""The bodies of /models, /live and /ready."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field


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
    bounds: tuple[float | None, float | None] = Field(
        description="The smallest and the largest score; null where there is none, as for minus a distance."
    )
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

    status: Literal["ready", "degraded", "not_ready"]
    checks: dict[str, bool]
