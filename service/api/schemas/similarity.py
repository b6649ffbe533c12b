"""Bodies of /similarity."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from semblance.models.text import Truncate
from semblance.service.api.schemas.calibration import CalibrationField
from semblance.service.api.schemas.explain import ExplanationOut
from semblance.service.api.schemas.fields import (
    AtMostTexts,
    Bounded,
    Measure,
    ModelName,
    Space,
    StrictBody,
    Text,
    Usage,
    alternative,
    one_of,
    require_one_of,
)
from semblance.service.api.schemas.other_apis.tei import TeiSource, TruncationFields
from semblance.service.api.schemas.warnings import Warnings
from semblance.service.usecases.collections import DEFAULT_MEASURE


class Pair(StrictBody):
    """Two texts to compare."""

    a: Text
    b: Text


_FORMS = 'give either pairs, such as {"pairs": [{"a": "one text", "b": "another"}]}, or both left and right, as lists'


class SimilarityRequest(StrictBody):
    """Either `pairs`, or `left` and `right` for a matrix; `inputs` is TEI's form."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "pairs": [{"a": "A man is playing a guitar.", "b": "Someone plays an instrument."}],
                    "measure": "rcmd",
                },
                {"left": ["A man is playing a guitar."], "right": ["Someone plays an instrument.", "It rains."]},
                {"inputs": {"source_sentence": "A man is playing a guitar.", "sentences": ["It rains."]}},
            ],
            "allOf": one_of(
                alternative({"pairs": "array"}, "left", "right", "inputs"),
                alternative({"left": "array", "right": "array"}, "pairs", "inputs", explain=False),
                alternative({"inputs": "object"}, "pairs", "left", "right", explain=False),
            ),
        },
    )

    pairs: Annotated[list[Pair] | None, Bounded, AtMostTexts] = Field(None, min_length=1)
    left: Annotated[list[Text] | None, Bounded, AtMostTexts] = Field(None, min_length=1)
    right: Annotated[list[Text] | None, Bounded, AtMostTexts] = Field(None, min_length=1)
    inputs: TeiSource | None = Field(None, description="TEI's form, answered by a list of scores.")
    parameters: TruncationFields | None = Field(None, description="Of TEI's form.")
    measure: Measure = DEFAULT_MEASURE
    model: ModelName | None = Field(None, description="A served model; null is the default one.")
    explain: bool = Field(False, description="Add the words behind each score (pairs only).")
    truncate: Truncate = Field(
        "END", description="The end at which a text that is too long is truncated; NONE refuses it."
    )

    _known_form = require_one_of("pairs", "left", "right", "inputs", otherwise=_FORMS)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        forms = (self.pairs is not None, self.left is not None and self.right is not None, self.inputs is not None)
        if (self.left is None) != (self.right is None) or sum(forms) != 1:
            raise PydanticCustomError("invalid_request", _FORMS)
        if self.pairs is None and self.explain:
            raise PydanticCustomError("invalid_request", "explain needs pairs")
        return self


class SimilarityResponse(BaseModel):
    """Scores in the order of the request; rows of `left` in a matrix."""

    model: str
    space: Space
    measure: str
    scores: list[float] | list[list[float]]
    probabilities: list[float] | list[list[float]] | None = Field(
        None, description="Probabilities that people call the pairs the same; null without a calibration."
    )
    calibration: CalibrationField = None
    truncated: list[bool] = Field(
        description="Whether a text of each pair was truncated; for a matrix, of each left, then each right text."
    )
    explanations: list[ExplanationOut] | None = None
    warnings: Warnings
    usage: Usage
