"""The bodies of /collections/{name}/rollover."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from semblance.service.api.schemas.request import Request
from semblance.service.api.text_types import ModelName


class RolloverRequest(Request):
    """Which model a collection is to be re-embedded under."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"model": "minilm"}]})

    model: ModelName = Field(description="A served model.")


class StepOut(BaseModel):
    """What a step came to."""

    embedded: int = Field(description="Documents that it embedded; those changed meanwhile are among those left.")
    left: int = Field(description="Documents that the next model has not embedded; at 0 the switch can be made.")
    version: str


class SwitchedOut(BaseModel):
    """The version from which on the next model is the collection's own."""

    version: str
