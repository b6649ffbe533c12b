"""/same: whether texts say the same, and the words that speak against it."""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from semblance_client.vocabulary.documents import StoredDocument
from semblance_client.vocabulary.fields import (
    AtMostTexts,
    Bounded,
    FilterObject,
    ModelName,
    NamedCollection,
    RequestBody,
    Text,
    VersionText,
    alternative,
    one_of,
    require_one_of,
)
from semblance_client.vocabulary.responses import ResponseBody, Space, Usage, Warnings
from semblance_client.vocabulary.similarity import Pair

FORMS = 'give either pairs, such as {"pairs": [{"a": "one text", "b": "another"}]}, or a text and a collection'
MAX_NEAREST = 32  # documents


class SameRequest(RequestBody):
    """Either `pairs`, or a text for the documents of a collection."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"pairs": [{"a": "How do I turn on dark mode?", "b": "How do I turn off dark mode?"}]},
                {"text": "my parcel never came", "collection": "default", "k": 3},
            ],
            "allOf": one_of(alternative({"pairs": "array"}, "text"), alternative({"text": "string"}, "pairs", "model")),
        },
    )

    pairs: Annotated[list[Pair] | None, Bounded, AtMostTexts] = Field(None, min_length=1)
    model: ModelName | None = None
    """Of pairs: a served model that has a paraphrase classifier; null is the default one."""
    text: Text | None = None
    collection: NamedCollection = "default"
    """Of a text: a collection whose model has a paraphrase classifier."""
    k: int = Field(5, ge=1, le=MAX_NEAREST)
    """Of a text: number of documents, the nearest by cosine."""
    filter: FilterObject = None
    min_version: VersionText = None

    _known_form = require_one_of("pairs", "text", otherwise=FORMS)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.pairs is None) == (self.text is None):
            raise PydanticCustomError("invalid_request", FORMS)
        if self.text is not None and self.model is not None:
            raise PydanticCustomError(
                "invalid_request", "a text is judged by the model of the collection: leave out model"
            )
        return self


ReasonKind: TypeAlias = Literal["number", "negation", "replaced", "only", "order"]
Unfit: TypeAlias = Literal["language", "long_text", "no_words", "unread_text"]
"""Texts that a classifier is not made for: another language, too long, without words, letters that are not read."""


class Place(ResponseBody):
    """Words of a text. Positions count code points."""

    start: int
    end: int
    text: str


class Reason(ResponseBody):
    """A reason against a pair being the same."""

    kind: ReasonKind
    """A number that differs; a negation in one text; words replaced by others, or in one text only; another order."""
    log_odds: float
    """Its contribution to the log-odds, below 0."""
    a: list[Place]
    """The words in the first text; empty if they are in the second one only."""
    b: list[Place]


class Verdict(ResponseBody):
    """Whether two texts say the same.

    `base`, the log-odds of the reasons and `rest` sum to `log_odds`.
    """

    verdict: Literal["same", "different", "unsure"]
    unsure: Literal["close_call"] | Unfit | None = None
    """Why the verdict is unsure: nearly even odds, or a text that the classifier is not made for."""
    log_odds: float | None
    """Natural logarithm of the odds that the texts say the same; null for texts that the classifier is not made for."""
    base: float
    """Log-odds of two texts with the same words."""
    rest: float
    """Contribution of everything that is not in the reasons."""
    reasons: list[Reason]
    """The heaviest first."""
    document: StoredDocument | None = None
    """Of a text for a collection: the document that is its second text."""


class FalseHitBound(ResponseBody):
    """A cut by `semblance calibrate --same`: few pairs that differ are taken for the same.

    The bound holds with 95 % confidence, for pairs that are drawn like those of the data.
    """

    data: str
    """Name of the data. On texts of another kind, more false hits may pass."""
    cut: float
    """Log-odds from which a verdict is `same`."""
    allowed: float
    """Largest share of the pairs that differ whose verdict is `same`."""
    different: int
    """Number of pairs of the data that differ."""
    same: int
    """Number of pairs of the data that are the same."""
    hit_rate: float
    """Share of the latter whose verdict is `same`."""


class Verdicts(ResponseBody):
    """A verdict for each pair, in their order, or for each document, the highest log-odds first."""

    verdicts: list[Verdict]
    bound: FalseHitBound | None
    """The bound on false hits, if one was fitted; without it, a verdict is `same` from log-odds of 1 on."""
    model: str
    space: Space
    warnings: Warnings
    usage: Usage
