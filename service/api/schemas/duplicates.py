"""Bodies of /collections/{name}/duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from semblance.service.api.schemas.explain import ExplanationOut, word_links_out
from semblance.service.api.schemas.fields import (
    CURSOR_PATTERN,
    FilterObject,
    Measure,
    Space,
    StrictBody,
    VersionText,
    documented,
)
from semblance.service.api.schemas.warnings import Warnings
from semblance.service.usecases.documents.duplicates import Duplicate


class DuplicatesRequest(StrictBody):
    """Which near-duplicates to find."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"min_score": 0.9, "explain": True}]})

    min_score: float = Field(allow_inf_nan=False, description="Least score of two documents that say the same.")
    measure: Measure | None = Field(None, description="Null is the collection's own.")
    filter: FilterObject | None = None
    explain: bool = False
    cursor: Annotated[str | None, documented(pattern=CURSOR_PATTERN)] = Field(
        None, description="From an earlier answer: goes on after the documents that it has checked."
    )
    limit: int | None = Field(
        None,
        ge=1,
        description="Most documents to check; null is 1,000, or all in NDJSON.",
    )
    min_version: VersionText | None = None


class DuplicateOut(BaseModel):
    """A document of a group."""

    id: str
    text: str = Field(description="The document, or its passage that is most similar to one of `like`.")
    like: str | None = Field(description="Id of the earlier document of the group that led to it; null for the first.")
    score: float | None = Field(description="Of the two; null for the first.")
    explanation: ExplanationOut | None = None


class DuplicateGroup(BaseModel):
    """Two or more documents that a chain of scores links."""

    documents: list[DuplicateOut]


class DuplicatesOutcome(BaseModel):
    """What compared the documents, and where to go on."""

    cursor: str | None = Field(description="Goes on after the documents checked; null if none are left.")
    model: str
    space: Space
    measure: str
    warnings: Warnings


class DuplicatesPage(DuplicatesOutcome):
    """Groups that begin with one of the documents that were checked."""

    groups: list[DuplicateGroup]
    checked: int = Field(description="Number of documents.")


class DuplicatesFound(BaseModel):
    """Groups that begin with one of the documents checked since the line before."""

    groups: list[DuplicateGroup]
    checked: int = Field(description="Documents so far.")
    cursor: str = Field(description="Send it to go on from here if the answer is interrupted.")


class DuplicatesDone(DuplicatesOutcome):
    """Last line of a complete answer."""

    done: Literal[True] = True
    groups: int


class DuplicatesBroken(BaseModel):
    """Last line of an answer that failed: go on with the cursor of the line before."""

    done: Literal[False] = False
    error: str = Field(description="A code of the table of errors.")
    detail: str


def group_out(group: Sequence[Duplicate], measure: str) -> DuplicateGroup:
    """A group as JSON; `measure` is that of the explanations."""
    return DuplicateGroup(
        documents=[
            DuplicateOut(
                id=each.id,
                text=each.text,
                like=each.like,
                score=each.score,
                explanation=each.why and word_links_out(each.why, measure),
            )
            for each in group
        ]
    )
