"""/suggest: how a query that is being typed may go on."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from semblance_client.vocabulary.fields import (
    FieldName,
    FilterObject,
    NamedCollection,
    RequestBody,
    String,
    VersionText,
)
from semblance_client.vocabulary.responses import ResponseBody

MAX_SUGGESTIONS = 50


class SuggestRequest(RequestBody):
    """The beginning of a query."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"query": "lost par"}, {"query": "how", "field": "title"}]}
    )

    query: Annotated[String, Field(min_length=1, max_length=1000)]
    """The beginning of what is typed."""
    collection: NamedCollection = "default"
    """Name of a collection, or an alias of one."""
    k: int = Field(5, ge=1, le=MAX_SUGGESTIONS)
    """Most suggestions."""
    field: FieldName | None = None
    """A metadata field, such as a title, whose values are suggested, too."""
    filter: FilterObject = None
    """Only of documents that match."""
    min_version: VersionText = None
    """Answer from this version of the collection or a later one."""


class Suggestion(ResponseBody):
    """A query that begins as that of the request does."""

    text: str
    """What may be typed."""
    field: str | None = None
    """The metadata field that has this value; null where the last word is completed."""


class Suggestions(ResponseBody):
    """Values of the field first, then words, each beginning with those that most documents have."""

    suggestions: list[Suggestion]
    """Values of the field, then words."""
    version: str
    """Of the collection."""
