"""/similarity: scores of pairs of texts, or of a matrix."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.config import JsonDict
from pydantic_core import PydanticCustomError

from semblance_client.vocabulary.explanation import Explanation
from semblance_client.vocabulary.fields import (
    AtMostTexts,
    Bounded,
    Measure,
    ModelName,
    Pair,
    RequestBody,
    Text,
    TruncateField,
    alternative,
    one_of,
    require_one_of,
)
from semblance_client.vocabulary.responses import Scored, Usage, Warnings

FORMS = 'give either pairs, such as {"pairs": [{"a": "one text", "b": "another"}]}, or both left and right, as lists'

EXAMPLES: tuple[JsonDict, ...] = (
    {"pairs": [{"a": "A man is playing a guitar.", "b": "Someone plays an instrument."}], "measure": "rcmd"},
    {"left": ["A man is playing a guitar."], "right": ["Someone plays an instrument.", "It rains."]},
)


class SimilarityRequest(RequestBody):
    """Either `pairs`, or `left` and `right` for a matrix."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [*EXAMPLES],
            "allOf": one_of(
                alternative({"pairs": "array"}, "left", "right"),
                alternative({"left": "array", "right": "array"}, "pairs", explain=False),
            ),
        },
    )

    pairs: Annotated[list[Pair] | None, Bounded, AtMostTexts] = Field(None, min_length=1)
    """Pairs of texts to compare."""
    left: Annotated[list[Text] | None, Bounded, AtMostTexts] = Field(None, min_length=1)
    """Texts to compare with each of `right`."""
    right: Annotated[list[Text] | None, Bounded, AtMostTexts] = Field(None, min_length=1)
    """Texts to compare with each of `left`."""
    measure: Measure = "cosine"
    model: ModelName | None = None
    """A served model; null is the default one."""
    explain: bool = False
    """Add the words behind each score (pairs only)."""
    truncate: TruncateField = None

    _known_form = require_one_of("pairs", "left", "right", otherwise=FORMS)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        self._require_one_form()
        return self

    def _require_one_form(self) -> None:
        if (self.left is None) != (self.right is None) or (self.pairs is None) == (self.left is None):
            raise PydanticCustomError("invalid_request", FORMS)
        if self.pairs is None and self.explain:
            raise PydanticCustomError("invalid_request", "explain needs pairs")


class Similarities(Scored):
    """Scores of pairs, in their order."""

    scores: list[float]
    """Higher is more alike."""
    probabilities: list[float | None] | None = None
    """Probabilities that people call the pairs the same; null without a calibration, and for a pair that is different
    by its verdict."""
    truncated: list[bool]
    """Whether a text of each pair was truncated."""
    explanations: list[Explanation] | None = None
    """One for each pair, if requested."""
    warnings: Warnings
    usage: Usage
    """What the request cost."""

    def __str__(self) -> str:
        return "\n".join(f"{score:.4f}" for score in self.scores)


class SimilarityMatrix(Scored):
    """Scores of each left with each right text: one row for each left text."""

    scores: list[list[float]]
    """A row for each left text, with its score with each right text."""
    probabilities: list[list[float]] | None = None
    """Probabilities that people call the pairs the same; null without a calibration."""
    truncated: list[bool]
    """Whether each left, then each right text was truncated."""
    warnings: Warnings
    usage: Usage
    """What the request cost."""
