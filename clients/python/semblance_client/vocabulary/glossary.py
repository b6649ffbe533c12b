"""/collections/{name}/glossary: phrases that count as equal, as opposites or not at all."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from semblance_client.vocabulary.fields import RequestBody, String
from semblance_client.vocabulary.responses import ResponseBody

MAX_GROUPS = 1000
MAX_TERMS = 20  # of a group, on either side
MAX_TERM_CHARS = 100

StemLanguage: TypeAlias = Literal["da", "de", "en", "es", "fi", "fr", "hu", "it", "nl", "no", "pt", "ro", "ru", "sv"]
GroupKind: TypeAlias = Literal["equal", "one_way", "opposite", "ignored"]


GlossaryTerm = Annotated[String, Field(min_length=1, max_length=MAX_TERM_CHARS)]
Terms = Annotated[list[GlossaryTerm], Field(min_length=1, max_length=MAX_TERMS)]


class GlossaryGroup(RequestBody):
    """Words and phrases that belong together."""

    kind: GroupKind
    """equal: each of the terms finds all of them. one_way: each also finds those of `to`, which do not find it.
    opposite: none of the terms is like any of `to`. ignored: the terms count for nothing."""
    terms: Terms
    """Words or phrases; letter case and accents do not count."""
    to: Terms | None = None
    """Of one_way and opposite, the other side."""

    @model_validator(mode="after")
    def _two_sides(self) -> GlossaryGroup:
        if (self.to is None) == (self.kind in ("one_way", "opposite")):
            form = "one_way and opposite need terms and to; equal and ignored have terms only"
            raise PydanticCustomError("invalid_request", "{form}", {"form": form})
        if self.kind == "equal" and len(self.terms) < 2:
            raise PydanticCustomError("invalid_request", "equal needs two terms or more")
        return self


class GlossaryRequest(RequestBody):
    """All groups of a glossary, in place of any before."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "groups": [
                        {"kind": "equal", "terms": ["RMA", "return authorization"]},
                        {"kind": "one_way", "terms": ["shoes"], "to": ["sneakers", "boots"]},
                        {"kind": "opposite", "terms": ["opened"], "to": ["closed"]},
                        {"kind": "ignored", "terms": ["please"]},
                    ]
                }
            ]
        }
    )

    groups: Annotated[list[GlossaryGroup], Field(max_length=MAX_GROUPS)]
    """Groups of phrases, in place of the former ones."""
    stems: StemLanguage | None = None
    """A language in which words of a query also find others of their stem, such as *parcels* for *parcel*."""


class Glossary(ResponseBody):
    """The glossary of a collection."""

    groups: list[GlossaryGroup]
    """Groups of phrases."""
    stems: StemLanguage | None
    """Language whose words are read by their stems; null is none."""
    version: str
    """Of the collection; a search with it as min_version obeys this glossary."""
