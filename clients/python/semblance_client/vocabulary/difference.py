"""/explain/difference: why one document stands above another."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from semblance_client.vocabulary.explanation import SHOWN_LINKS, PassageSpan, Side
from semblance_client.vocabulary.fields import (
    Measure,
    NamedDocument,
    RequestBody,
    String,
    Text,
    TruncateField,
    documented,
)
from semblance_client.vocabulary.responses import ResponseBody, Space, Warnings, shortened

DifferenceMode: TypeAlias = Literal["vector", "hybrid"]


class DifferenceRequest(RequestBody):
    """A query, and the ids of two documents."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "my parcel never came", "a": "shipping-001", "b": "shipping-002"},
                {"query": "my parcel never came", "a": "shipping-001", "b": "shipping-002", "mode": "hybrid"},
            ]
        },
    )

    query: Text
    """The text that both documents are compared with."""
    a: NamedDocument
    """A document."""
    b: NamedDocument
    """Another one."""
    collection: String = Field("default", examples=["default"])
    """The collection of both."""
    measure: Measure | None = None
    """Null is rcmd_words. Name the measure of a search to see the parts of its scores."""
    mode: DifferenceMode = "vector"
    """In mode hybrid, the bonus of terms is part of the difference."""
    truncate: TruncateField = None
    format: Literal["json", "html"] | None = None
    """Null chooses by the Accept header."""

    @field_validator("b")
    @classmethod
    def _other(cls, b: str, known: ValidationInfo) -> str:
        if b == known.data.get("a"):
            raise PydanticCustomError("invalid_value", "it is the same document as a; name two different ones")
        return b


class ComparedDocument(Side):
    """A document: the text of its best passage, all of a document that is not cut."""

    id: str
    """Id of the document."""
    passage: PassageSpan | None
    """Place of that passage in a document that is cut; else null."""
    score: float
    """By the measure."""
    bonus: float
    """Contribution of terms; 0 in mode vector."""
    combined: float
    """Score and bonus, which order the hits of a search."""


class Partner(ResponseBody):
    """A word of a document that a word of the query is linked to, or an occurrence of a term."""

    text: str
    """The word."""
    start: int
    """Place in the `text` of the document."""
    end: int
    """One past the last code point."""
    similarity: float | None
    """Null for terms."""
    contribution: float | None
    """Null for terms."""


class Share(ResponseBody):
    """The contribution of a part of the query to the score of a document."""

    contribution: float
    """Its part of the score."""
    partners: list[Partner]
    """Up to three words that a word is linked to, the strongest first; all places of a term."""


class DifferencePart(ResponseBody):
    """A part of the query, and what it adds to the scores of both documents."""

    kind: Annotated[str, documented(enum=["word", "special", "rest", "term"])]
    """A word of the query; all special tokens; the rest of the scores, in links that a measure leaves out and in
    rounding; or, in mode hybrid, a term of the query."""
    text: str
    """The word or term; the kind of all others."""
    start: int | None
    """Place of a word in the query; null for other kinds."""
    end: int | None
    """One past its last code point in the query; null if it is of no word."""
    a: Share
    """Its part of the score of the first document."""
    b: Share
    """Its part of the score of the second document."""
    difference: float
    """The contribution to a less that to b."""


class ScoreDifference(ResponseBody):
    """Two scores and their difference, to which the differences of the parts sum.

    Example:
        >>> print(client.explain_difference("my parcel never came", "shipping-001", "shipping-002"))
        0.2071 by rcmd_words: shipping-001 0.4679, shipping-002 0.2609
          my      +0.0948
          parcel  +0.0711
          never   +0.0445
          came    -0.0033
    """

    query: Side
    """The query."""
    a: ComparedDocument
    """The first document."""
    b: ComparedDocument
    """The second document."""
    difference: float
    """Difference of a and b: `combined` of a less that of b."""
    parts: list[DifferencePart]
    """Largest absolute difference first."""
    measure: str
    """Name of the measure."""
    mode: Annotated[str, documented(enum=["vector", "hybrid"])]
    """Whether terms count, too."""
    model: str
    """Name of the model."""
    space: Space
    version: str
    """Of the collection, in which both documents were read."""
    warnings: Warnings

    def __str__(self) -> str:
        documents = ", ".join(f"{document.id} {document.combined:.4f}" for document in (self.a, self.b))
        lines = [f"{self.difference:.4f} by {self.measure}: {documents}"]
        shown = [part for part in self.parts[:SHOWN_LINKS] if round(part.difference, 4)]
        width = max((len(shortened(part.text)) for part in shown), default=0)
        lines += [f"  {shortened(part.text):<{width}}  {part.difference:+.4f}" for part in shown]
        return "\n".join(lines)
