"""The bodies of /explain, and explanations wherever they come along."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from semblance.models.explanation import LinkList
from semblance.models.text import Granularity, Truncate, Unit
from semblance.service.api.schemas.fields import (
    Measure,
    ModelName,
    NamedDocument,
    StrictBody,
    String,
    Text,
    alternative,
)
from semblance.service.usecases.explain import DEFAULT_LINKS, PairExplanation


class Token(BaseModel):
    """A span of a text: a word, or a token."""

    text: str
    start: int = Field(description="First character, counted from 0 in Unicode code points.")
    end: int = Field(description="One past its last character.")


class Side(BaseModel):
    """One of the two texts, split into the units that links connect."""

    text: str
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


class ExplainRequest(StrictBody):
    """Text `a`, and either text `b` or the `id` of a document."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"a": "A cat sits outside.", "b": "A kitten is in the garden."},
                {"a": "my parcel never came", "id": "shipping-001", "measure": "rcmd", "max_links": 5},
            ],
            "oneOf": [alternative({"b": "string"}, "id"), alternative({"id": "string"}, "b", "model")],
        },
    )

    a: Text
    b: Text | None = None
    id: NamedDocument | None = Field(None, description="A document to use as b.")
    collection: String = Field("default", description="The collection of that document.", examples=["default"])
    measure: Measure | None = Field(None, description="Null is the collection's for a document, else cosine.")
    model: ModelName | None = None
    format: Literal["json", "svg", "png", "html"] | None = Field(None, description="Null chooses by the Accept header.")
    granularity: Granularity = "word"
    max_links: int | None = Field(
        None,
        ge=0,
        description=f"Strongest links to keep: {DEFAULT_LINKS} if null; pictures draw 40 words a side.",
    )
    truncate: Truncate = "END"

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        if (self.b is None) == (self.id is None):
            raise PydanticCustomError("invalid_request", "give either b or the id of a document")
        if self.id is not None and self.model is not None:
            raise PydanticCustomError(
                "invalid_request", "a document is compared by the model of its collection; leave out model"
            )
        return self


class ExplainQuery(ExplainRequest):
    """The same in a query string, where everything is a string."""

    model_config = ConfigDict(strict=False)


class ExplainResponse(ExplanationOut):
    """An explanation, and the model behind it."""

    model: str
    space: str
    truncated: bool


def explanation_out(
    links: LinkList, measure: str, texts: tuple[str, str], granularity: Granularity = "word"
) -> ExplanationOut:
    """The links of a score as JSON."""
    return ExplanationOut(
        score=links.score,
        measure=measure,
        granularity=granularity,
        a=Side(text=texts[0], tokens=_tokens(links.left)),
        b=Side(text=texts[1], tokens=_tokens(links.right)),
        links=[
            LinkOut(a=link.left, b=link.right, similarity=link.similarity, contribution=link.contribution)
            for link in links.links
        ],
        special=links.special,
        omitted=links.omitted,
    )


def explain_response(explained: PairExplanation, request: ExplainRequest) -> ExplainResponse:
    """The answer to /explain as JSON."""
    max_links = DEFAULT_LINKS if request.max_links is None else request.max_links
    links = explained.explanation.link_list(max_links)
    out = explanation_out(links, explained.measure, (explained.a, explained.b), request.granularity)
    return ExplainResponse(
        **dict(out), model=explained.encoder.name, space=explained.encoder.space, truncated=explained.truncated
    )


def _tokens(units: tuple[Unit, ...]) -> list[Token]:
    return [Token(text=unit.text, start=unit.start, end=unit.end) for unit in units]
