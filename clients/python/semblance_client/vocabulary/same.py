"""/same: whether texts say the same, and the words that speak against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    Pair,
    RequestBody,
    Text,
    VersionText,
    alternative,
    one_of,
    require_one_of,
)
from semblance_client.vocabulary.responses import ResponseBody, Space, Usage, Warnings, shortened

FORMS = 'give either pairs, such as {"pairs": [{"a": "one text", "b": "another"}]}, or a text and a collection'
MAX_NEAREST = 32  # documents
SHOWN_REASONS = 3  # in text; of the others the number
SURELY_TO = -4.0  # log-odds above which text says "perhaps different"
MAIN_SHARE = 0.1  # of the heaviest reason, from which another one is named
SHOWN_GAP = 2  # characters between neighbors
SHOWN_CHARS = 40  # of the words of a reason in text

ReasonKind: TypeAlias = Literal["number", "negation", "replaced", "only", "order"]
Unfit: TypeAlias = Literal["language", "long_text", "no_words", "unread_text"]
"""Texts that a classifier is not made for: another language, too long, without words, letters that are not read."""
Unsure: TypeAlias = Literal["close_call"] | Unfit

_UNSURE: Mapping[Unsure, str] = {
    "close_call": "a close call",
    "language": "a language that the classifier does not read",
    "long_text": "longer than the model reads at once",
    "no_words": "a text without words",
    "unread_text": "signs that the model does not read",
}


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
    """Pairs of texts to judge."""
    model: ModelName | None = None
    """Of pairs: a served model that has a paraphrase classifier; null is the default one."""
    text: Text | None = None
    """A text to compare with the documents of a collection."""
    collection: NamedCollection = "default"
    """Of a text: a collection whose model has a paraphrase classifier."""
    k: int = Field(5, ge=1, le=MAX_NEAREST)
    """Of a text: number of documents, the nearest by cosine."""
    filter: FilterObject = None
    min_version: VersionText = None
    """Answer from this version of the collection or a later one."""

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


class Place(ResponseBody):
    """Words of a text. Positions count code points."""

    start: int
    """First code point in the text."""
    end: int
    """One past the last code point."""
    text: str
    """The words there."""


class Reason(ResponseBody):
    """A reason against a pair being the same."""

    kind: ReasonKind
    """A number that differs; a negation in one text; words replaced by others, or in one text only; another order."""
    log_odds: float
    """Its contribution to the log-odds, below 0."""
    a: list[Place]
    """The words in the first text; empty if they are in the second one only."""
    b: list[Place]
    """Places of the words in the second text."""

    def __str__(self) -> str:
        a, b = (shortened(_joined(side), SHOWN_CHARS) for side in (self.a, self.b))
        if a and b:
            return f"{a} / {b}" if self.kind == "replaced" else f"{self.kind} {a} / {b}"
        side = "a" if a else "b"
        if self.kind == "negation":
            return f"negation in {side}"
        return f"only in {side}: {a or b}"


class Verdict(ResponseBody):
    """Whether two texts say the same.

    `base`, the log-odds of the reasons and `rest` sum to `log_odds`. As text, it is one line with the main reasons.

    Example:
        >>> print(client.explain("Invoice 117 was paid", "Invoice 113 was paid").same)
        Different: number 117 / 113
    """

    verdict: Literal["same", "different", "unsure"]
    """Whether the texts say the same; `unsure` where that cannot be told."""
    unsure: Unsure | None = None
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

    @property
    def main_reasons(self) -> list[Reason]:
        """The reasons that take at least a tenth of what the heaviest takes."""
        return [each for each in self.reasons if each.log_odds <= MAIN_SHARE * self.reasons[0].log_odds]

    def __str__(self) -> str:
        shown = [str(reason) for reason in self.main_reasons[:SHOWN_REASONS]]
        if further := self.main_reasons[SHOWN_REASONS:]:
            shown.append(f"{len(further)} more")
        if self.unsure and not shown:
            shown = [_UNSURE[self.unsure]]
        return ": ".join([self._said, *filter(None, ["; ".join(shown)])])

    @property
    def _said(self) -> str:
        if self.verdict == "same" and self.reasons:
            return "Same, apart from"
        perhaps = self.verdict == "different" and self.log_odds is not None and self.log_odds > SURELY_TO
        return "Perhaps different" if perhaps else self.verdict.capitalize()


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


def _joined(places: Sequence[Place]) -> str:
    """The words of some places in one text, with an ellipsis where others are left out."""
    words = ""
    for before, place in zip([None, *places], places, strict=False):
        words += ("" if before is None else " " if place.start - before.end <= SHOWN_GAP else " … ") + place.text
    return words


class Verdicts(ResponseBody):
    """A verdict for each pair, in their order, or for each document, the highest log-odds first."""

    verdicts: list[Verdict]
    """A verdict on each pair, in the order of the request."""
    bound: FalseHitBound | None
    """The bound on false hits, if one was fitted; without it, a verdict is `same` from log-odds of 1 on."""
    model: str
    """Name of the model."""
    space: Space
    warnings: Warnings
    usage: Usage
    """What the request cost."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.verdicts))
