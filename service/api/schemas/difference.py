"""The bodies of /explain/difference."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from semblance.models.explanation import MAX_PARTNERS, DifferencePart, PartKind, Share
from semblance.models.text import Truncate
from semblance.service.api.schemas.explain import PassageSpan, Side, side_out
from semblance.service.api.schemas.fields import Measure, NamedDocument, Space, StrictBody, String, Text
from semblance.service.api.schemas.warnings import Warnings, warnings_out
from semblance.service.usecases.explain.difference import DifferenceMode, ExplainedDocument, ScoreDifference
from semblance.service.usecases.explain.explain import DEFAULT_MEASURE


class DifferenceRequest(StrictBody):
    """A query, and the ids of two documents."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "my parcel never came", "a": "shipping-001", "b": "shipping-002"},
                {"query": "my parcel never came", "a": "shipping-001", "b": "shipping-002", "mode": "hybrid"},
            ]
        }
    )

    query: Text
    a: NamedDocument = Field(description="A document.")
    b: NamedDocument = Field(description="Another one.")
    collection: String = Field("default", description="The collection of both.", examples=["default"])
    measure: Measure | None = Field(
        None, description=f"Null is {DEFAULT_MEASURE}. Name the measure of a search to see the parts of its scores."
    )
    mode: DifferenceMode = Field("vector", description="In mode hybrid, the bonus of terms is part of the difference.")
    truncate: Truncate = "END"
    format: Literal["json", "html"] | None = Field(None, description="Null chooses by the Accept header.")

    @field_validator("b")
    @classmethod
    def _other(cls, b: str, known: ValidationInfo) -> str:
        if b == known.data.get("a"):
            raise PydanticCustomError("invalid_value", "it is the same document as a; name two different ones")
        return b


class DifferenceQuery(DifferenceRequest):
    """The same in a query string, where everything is a string."""

    model_config = ConfigDict(strict=False)


class PartnerOut(BaseModel):
    """A word of a document that a word of the query is linked to, or an occurrence of a term."""

    text: str
    start: int = Field(description="Place in the `text` of the document.")
    end: int
    similarity: float | None = Field(description="Null for terms.")
    contribution: float | None = Field(description="Null for terms.")


class ShareOut(BaseModel):
    """What a part of the query adds to the score of a document."""

    contribution: float
    partners: list[PartnerOut] = Field(
        description=f"Up to {MAX_PARTNERS} words that a word is linked to, the strongest first; all places of a term."
    )


class DifferencePartOut(BaseModel):
    """A part of the query, and what it adds to the scores of both documents."""

    kind: PartKind = Field(
        description="A word of the query; all special tokens; the rest of the scores, in links that a measure leaves "
        "out and in rounding; or, in mode hybrid, a term of the query."
    )
    text: str = Field(description="The word or term; the kind of all others.")
    start: int | None = Field(description="Place of a word in the query; null for other kinds.")
    end: int | None
    a: ShareOut
    b: ShareOut
    difference: float = Field(description="The contribution to a less that to b.")


class ComparedDocument(Side):
    """A document: the text of its best passage, all of a document that is not cut."""

    id: str
    passage: PassageSpan | None = Field(description="Place of that passage in a document that is cut; else null.")
    score: float = Field(description="By the measure.")
    bonus: float = Field(description="What terms add to it; 0 in mode vector.")
    combined: float = Field(description="Score and bonus, which order the hits of a search.")


class DifferenceResponse(BaseModel):
    """Two scores and their difference, to which the differences of the parts sum."""

    query: Side
    a: ComparedDocument
    b: ComparedDocument
    difference: float = Field(description="How far a stands above b: `combined` of a less that of b.")
    parts: list[DifferencePartOut] = Field(description="Largest absolute difference first.")
    measure: str
    mode: DifferenceMode
    model: str
    space: Space
    version: str = Field(description="Of the collection, in which both documents were read.")
    warnings: Warnings


def difference_response(found: ScoreDifference) -> DifferenceResponse:
    """The answer to /explain/difference as JSON."""
    return DifferenceResponse(
        query=side_out(found.query, found.a.explanation.left),
        a=_document(found.a),
        b=_document(found.b),
        difference=found.difference,
        parts=[_part(part, found) for part in found.parts],
        measure=found.measure,
        mode=found.mode,
        model=found.encoder.name,
        space=found.encoder.space,
        version=str(found.version),
        warnings=warnings_out(found.warnings),
    )


def _document(document: ExplainedDocument) -> ComparedDocument:
    return ComparedDocument(
        **dict(side_out(document.text, document.explanation.right)),
        id=document.id,
        passage=document.span and PassageSpan(start=document.span[0], end=document.span[1]),
        score=document.explanation.score,
        bonus=document.bonus,
        combined=document.combined,
    )


def _part(part: DifferencePart, found: ScoreDifference) -> DifferencePartOut:
    return DifferencePartOut(
        kind=part.kind,
        text=part.name,
        start=part.unit and part.unit.start,
        end=part.unit and part.unit.end,
        a=_share(part.a, found.a.text.text),
        b=_share(part.b, found.b.text.text),
        difference=part.difference,
    )


def _share(share: Share, text: str) -> ShareOut:
    return ShareOut(
        contribution=share.contribution,
        partners=[
            PartnerOut(
                text=text[each.start : each.end],
                start=each.start,
                end=each.end,
                similarity=each.similarity,
                contribution=each.contribution,
            )
            for each in share.partners
        ],
    )
