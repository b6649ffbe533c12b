"""/collections/{name}/duplicates: groups of near-duplicates."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, JsonValue

from semblance_client.vocabulary.explanation import Explanation
from semblance_client.vocabulary.fields import Cursor, FilterObject, Measure, RequestBody, VersionText
from semblance_client.vocabulary.responses import ResponseBody, Space, Warnings

MIN_SCORE = 0.9  # below it, most documents are related, but say something else


class DuplicatesRequest(RequestBody):
    """Which near-duplicates to find."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"min_score": 0.9, "explain": True}]})

    min_score: float = Field(MIN_SCORE, allow_inf_nan=False)
    """Least score of two documents that say the same; the default is for measures whose scores reach 1."""
    measure: Measure | None = None
    """Null is the collection's own."""
    filter: FilterObject = None
    explain: bool = False
    """Whether to return the parts of each score by words."""
    cursor: Cursor | None = None
    """From an earlier response: goes on after the documents that it has checked."""
    limit: int | None = Field(None, ge=1)
    """Most documents to check; null is 1,000, or all in NDJSON."""
    min_version: VersionText = None
    """Answer from this version of the collection or a later one."""


class Duplicate(ResponseBody):
    """A document of a group."""

    id: str
    """Id of the document."""
    text: str
    """The document, or its passage that is most similar to one of `like`."""
    like: str | None
    """Id of the first document of the group; null for that itself."""
    score: float | None
    """Of the two; null for the first."""
    in_both: list[str] = Field(default_factory=list)
    """Words and codes of `text`, up to 20, that the text it is compared with has, too; without function words."""
    only_here: list[str] = Field(default_factory=list)
    """Those that the other text lacks."""
    only_there: list[str] = Field(default_factory=list)
    """Those of the other text that this one lacks."""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    """Of the document; duplicates by their texts may differ in it."""
    explanation: Explanation | None = None
    """The words that make the score, if requested."""

    def __str__(self) -> str:
        link = "" if self.score is None else f"  ({self.score:.4f} with {self.like})"
        return f"{self.id}{link}  {self.text}"


class DuplicateGroup(ResponseBody):
    """Two or more documents, all similar enough to the first."""

    documents: list[Duplicate]
    """The documents of the group; all others are similar to the first."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.documents))


class FoundDuplicates(ResponseBody):
    """Groups that begin with one of the documents checked since the line or page before."""

    groups: list[DuplicateGroup]
    """Groups of near-duplicates."""
    checked: int
    """Number of documents."""
    cursor: str | None
    """Send it to go on from here; null if no documents are left."""


class DuplicatesPage(FoundDuplicates):
    """A page of groups, and what compared the documents."""

    model: str
    """Name of the model."""
    space: Space
    measure: str
    """Name of the measure."""
    warnings: Warnings


class DuplicatesDone(ResponseBody):
    """Last line of a complete response."""

    done: Literal[True] = True
    groups: int
    cursor: str | None
    """Goes on after the documents checked; null if none are left."""
    model: str
    space: Space
    measure: str
    warnings: Warnings


class DuplicatesBroken(ResponseBody):
    """Last line of a response that failed: go on with the cursor of the line before."""

    done: Literal[False] = False
    error: str
    """A code of the table of errors."""
    detail: str
