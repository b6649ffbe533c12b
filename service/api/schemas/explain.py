"""The bodies of /explain, and explanations wherever they come along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from semblance.models.explanation import LinkList, ReadText
from semblance.models.text import Granularity, Truncate, Unit
from semblance.service.api.schemas.calibration import (
    CalibrationField,
    Probability,
    calibration_out,
    probability_of,
)
from semblance.service.api.schemas.fields import (
    Measure,
    ModelName,
    NamedDocument,
    Space,
    StrictBody,
    String,
    Text,
    alternative,
    one_of,
    require_one_of,
)
from semblance.service.api.schemas.warnings import Warnings, warnings_out
from semblance.service.usecases.explain.explain import DEFAULT_MEASURE, PairExplanation
from semblance.service.usecases.explain.word_links import DEFAULT_LINKS, WordLinks


class Token(BaseModel):
    """A span of a text: a word, or a token."""

    text: str
    start: int = Field(description="First character, counted from 0 in Unicode code points.")
    end: int = Field(description="One past its last character.")


class Side(BaseModel):
    """One of the two texts, split into the units that links connect."""

    text: str
    truncated: bool = Field(description="Whether the model read only a part of it, which the tokens cover.")
    read_start: int = Field(description="First character that the model read; 0 unless truncated at the start.")
    read_end: int = Field(description="One past the last character that it read; the length unless truncated.")
    tokens: list[Token]


class LinkOut(BaseModel):
    """A link from token `a` of the first text to token `b` of the second, by position."""

    a: int
    b: int
    similarity: float
    contribution: float


class ExplanationOut(BaseModel):
    """A score and its parts: the links' contributions, `special` and `omitted` sum to it."""

    score: float
    measure: str
    granularity: Granularity
    a: Side
    b: Side
    links: list[LinkOut] = Field(description="Largest absolute contribution first.")
    special: float = Field(description="Contribution of special and prompt tokens.")
    omitted: float = Field(description="Contribution of the links that are left out.")


_FORMS = 'give a and either b, such as {"a": "one text", "b": "another"}, or the id of a document'


class ExplainRequest(StrictBody):
    """Text `a`, and either text `b` or the `id` of a document."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"a": "A cat sits outside.", "b": "A kitten is in the garden."},
                {"a": "my parcel never came", "id": "shipping-001", "measure": "rcmd", "max_links": 5},
            ],
            "allOf": one_of(alternative({"b": "string"}, "id"), alternative({"id": "string"}, "b", "model")),
        },
    )

    a: Text
    b: Text | None = None
    id: NamedDocument | None = Field(None, description="A document to use as b.")
    collection: String = Field("default", description="The collection of that document.", examples=["default"])
    measure: Measure | None = Field(
        None, description=f"Null is {DEFAULT_MEASURE}. Name the measure of a search to see the parts of its scores."
    )
    model: ModelName | None = None
    format: Literal["json", "svg", "png", "html"] | None = Field(None, description="Null chooses by the Accept header.")
    granularity: Granularity = "word"
    max_links: int | None = Field(
        None,
        ge=0,
        description=f"Strongest links to keep: {DEFAULT_LINKS} if null; pictures and pages show all if null.",
    )
    truncate: Truncate = "END"

    _known_form = require_one_of("b", "id", otherwise=_FORMS)

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.b is None) == (self.id is None):
            raise PydanticCustomError("invalid_request", _FORMS)
        if self.id is not None and self.model is not None:
            raise PydanticCustomError(
                "invalid_request", "a document is compared by the model of its collection; leave out model"
            )
        return self


class ExplainQuery(ExplainRequest):
    """The same in a query string, where everything is a string."""

    model_config = ConfigDict(strict=False)


class PassageSpan(BaseModel):
    """A passage of a document, in code points."""

    start: int
    end: int


class ExplainResponse(ExplanationOut):
    """An explanation, and the model behind it."""

    model: str
    space: Space
    probability: Probability = None
    calibration: CalibrationField = None
    truncated: bool = Field(description="Whether either text was truncated.")
    passage: PassageSpan | None = Field(
        None, description="Place of b in a document that is cut: its passage with the highest score; null otherwise."
    )
    warnings: Warnings


def explanation_out(
    links: LinkList, measure: str, texts: tuple[ReadText, ReadText], granularity: Granularity = "word"
) -> ExplanationOut:
    """The links of a score as JSON."""
    return ExplanationOut(
        score=links.score,
        measure=measure,
        granularity=granularity,
        a=side_out(texts[0], links.left),
        b=side_out(texts[1], links.right),
        links=[
            LinkOut(a=link.left, b=link.right, similarity=link.similarity, contribution=link.contribution)
            for link in links.links
        ],
        special=links.special,
        omitted=links.omitted,
    )


def word_links_out(explained: WordLinks, measure: str) -> ExplanationOut:
    """The explanation of a pair or a hit as JSON."""
    return explanation_out(explained.links, measure, (explained.a, explained.b))


def explain_response(explained: PairExplanation, request: ExplainRequest) -> ExplainResponse:
    """The answer to /explain as JSON."""
    max_links = DEFAULT_LINKS if request.max_links is None else request.max_links
    links = explained.explanation.link_list(max_links)
    out = explanation_out(links, explained.measure, (explained.a, explained.b), request.granularity)
    return ExplainResponse(
        **dict(out),
        model=explained.encoder.name,
        space=explained.encoder.space,
        probability=probability_of(explained.calibration, explained.explanation.score),
        calibration=calibration_out(explained.calibration),
        truncated=explained.a.truncated or explained.b.truncated,
        passage=explained.passage and PassageSpan(start=explained.passage[0], end=explained.passage[1]),
        warnings=warnings_out(explained.warnings),
    )


def side_out(read: ReadText, units: Sequence[Unit]) -> Side:
    """A text and its units as JSON."""
    return Side(
        text=read.text,
        truncated=read.truncated,
        read_start=read.start,
        read_end=read.end,
        tokens=[Token(text=unit.text, start=unit.start, end=unit.end) for unit in units],
    )
