"""/explain, and explanations in other responses: the words that make a score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol, Self, TypeAlias

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from semblance_client.vocabulary.fields import (
    Measure,
    ModelName,
    NamedDocument,
    RequestBody,
    String,
    Text,
    TruncateField,
    alternative,
    documented,
    one_of,
    require_one_of,
)
from semblance_client.vocabulary.responses import Calibration, ResponseBody, Space, Warnings, shortened
from semblance_client.vocabulary.same import Verdict

DEFAULT_LINKS = 200  # of a response
SHOWN_LINKS = 12  # in text and notebooks; the others are one line
_FORMS = 'give a and either b, such as {"a": "one text", "b": "another"}, or the id of a document'

Granularity: TypeAlias = Literal["word", "token"]


class ExplainRequest(RequestBody):
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
    """The first text."""
    b: Text | None = None
    """The second text."""
    id: NamedDocument | None = None
    """A document to use as b."""
    collection: String = Field("default", examples=["default"])
    """The collection of that document."""
    measure: Measure | None = None
    """Null is rcmd_words. Name the measure of a search to see the parts of its scores."""
    model: ModelName | None = None
    """Name of the model; null is the default."""
    format: Literal["json", "svg", "png", "html"] | None = None
    """Null chooses by the Accept header."""
    granularity: Granularity = "word"
    """Whether to link tokens or whole words."""
    max_links: int | None = Field(None, ge=0)
    """Strongest links to keep: 200 if null; pictures and pages show all if null."""
    truncate: TruncateField = None

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


class Token(ResponseBody):
    """A span of a text: a word, or a token."""

    text: str
    """The part of the text that it is of."""
    start: int
    """First character, counted from 0 in Unicode code points."""
    end: int
    """One past its last character."""


class Side(ResponseBody):
    """One of the two texts, split into the units that links connect."""

    text: str
    """The whole text."""
    truncated: bool
    """Whether only a part of it is compared, which the tokens cover: what was not truncated, or a passage."""
    read_start: int
    """First character of that part; 0 for all of the text."""
    read_end: int
    """One past the last character of that part; the length for all of the text."""
    tokens: list[Token]
    """The tokens that the model read."""


class Link(ResponseBody):
    """A link from token `a` of the first text to token `b` of the second, by position."""

    a: int
    """Number of the token or word of the first text."""
    b: int
    """Number of the token or word of the second text."""
    similarity: float
    """Cosine of the two."""
    contribution: float
    """Its share of the score."""


@dataclass(frozen=True, slots=True)
class Part:
    """A line of an explanation.

    Attributes:
        words: the two words of a link; a single label for a sum of what is not listed.
        contribution: its share of the score.
    """

    words: tuple[str, ...]
    contribution: float

    @property
    def is_sum(self) -> bool:
        """Whether it is the sum of several links, and not one link."""
        return len(self.words) == 1


class TextPrinter(Protocol):
    """The printer that IPython passes to objects with a text of their own."""

    def text(self, text: str) -> None:
        """Print it."""


class Explanation(ResponseBody):
    """A score and its parts: the links' contributions, `special` and `omitted` sum to it.

    In a notebook it is shown as marked texts with a table of links, in a terminal and by `print` as text.

    Example:
        >>> why = client.explain("my parcel never came", "my package has not arrived", max_links=2)
        >>> print(why)
        Same, apart from: parcel / package has
        0.6455 by rcmd_words
          my = my         +0.1755
          came = arrived  +0.1628
          links left out  +0.3073
        >>> abs(round(sum(link.contribution for link in why.links) + why.rest - why.score, 6))
        0.0
    """

    score: float
    """Similarity by the measure, to which the parts sum."""
    measure: str
    """The measure that was explained."""
    granularity: Annotated[str, documented(enum=["word", "token"])]
    """Whether links connect words or tokens."""
    a: Side
    """The first text; the query, in a search."""
    b: Side
    """The second text; the document, in a search."""
    links: list[Link]
    """Largest absolute contribution first."""
    special: float
    """Contribution of special and prompt tokens."""
    omitted: float
    """Contribution of the links that are left out."""
    by_glossary: float | None = None
    """Part of the score that comes from the collection's glossary, already in `links`; null without a glossary."""
    same: Verdict | None = None
    """Whether the texts say the same, as `POST /same`; null if the model has no classifier, and for a document that a
    query found."""

    @property
    def rest(self) -> float:
        """The part of the score that is not in `links`: `special + omitted`."""
        return self.special + self.omitted

    def words(self, link: Link) -> tuple[str, str]:
        """The two words of a link."""
        return self.a.tokens[link.a].text, self.b.tokens[link.b].text

    def parts(self, links: int = SHOWN_LINKS) -> Iterator[Part]:
        """The strongest links, then the sums of all else; together the score."""
        for link in self.links[:links]:
            yield Part(self.words(link), link.contribution)
        if further := self.links[links:]:
            yield Part((f"{len(further):,} weaker links",), sum(link.contribution for link in further))
        if self.omitted:
            yield Part(("links left out",), self.omitted)
        if self.special:
            yield Part(("special tokens",), self.special)

    def records(self) -> list[dict[str, str | float]]:
        """Links as rows of a table, such as of `pandas.DataFrame`."""
        return [
            {"a": a, "b": b, "similarity": link.similarity, "contribution": link.contribution}
            for link in self.links
            for a, b in [self.words(link)]
        ]

    def __str__(self) -> str:
        rows = [(" = ".join(map(shortened, part.words)), part.contribution) for part in self.parts()]
        width = max((len(label) for label, _ in rows), default=0)
        lines = [f"  {label:<{width}}  {contribution:+.4f}" for label, contribution in rows]
        glossary = f", {self.by_glossary:+.4f} of it by glossary" if self.by_glossary else ""
        verdict = [str(self.same)] if self.same else []
        return "\n".join([*verdict, f"{self.score:.4f} by {self.measure}{glossary}", *lines])

    def _repr_pretty_(self, printer: TextPrinter, _is_cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        from semblance_client.vocabulary.notebook import explanation_html  # noqa: PLC0415 - it imports this module

        return explanation_html(self)


class PassageSpan(ResponseBody):
    """The place of a passage in the text of its document or in a metadata field, in code points."""

    start: int
    """First code point in the text."""
    end: int
    """One past the last code point."""
    field: str | None = None
    """The metadata field that the passage is of; null if it is of the text."""


class PairExplanation(Explanation):
    """An explanation, and the model behind it."""

    model: str
    """Name of the model."""
    space: Space
    probability: float | None = None
    """Probability that people call the pair the same; null without a calibration, and if `same` says different."""
    calibration: Calibration | None = None
    """Data that the probabilities are fitted to; null if there are none."""
    truncated: bool
    """Whether either text was truncated."""
    passage: PassageSpan | None = None
    """Place of b in a document that is cut: its passage with the highest score; null otherwise."""
    warnings: Warnings
