"""/caches/{name}: answers by questions that say the same."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, JsonValue

from semblance_client.vocabulary.fields import (
    TEXT_PATTERN,
    CachedAnswer,
    FilterObject,
    MetadataObject,
    RequestBody,
    String,
    Text,
    VersionText,
    documented,
)
from semblance_client.vocabulary.responses import ResponseBody, Space, Usage, Warnings
from semblance_client.vocabulary.same import FalseHitBound, Verdict

CACHE_FIELD, SCOPE_FIELD, EXPIRY_FIELD = "cache", "cache_scope", "cache_until"  # of the metadata of an entry
MAX_TTL_S = 10 * 365 * 86_400
MAX_SCOPE = 32

CacheScope = Annotated[dict[String, String], Field(max_length=MAX_SCOPE)]


class LookupRequest(RequestBody):
    """A text whose answer may be stored, under this text or one that says the same."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "How do I turn off dark mode?", "scope": {"tenant": "acme"}}]}
    )

    text: Text
    """The question."""
    scope: CacheScope = Field(default_factory=dict)
    """Only answers that were stored with exactly this scope count, such as a tenant and the version of a prompt."""
    filter: FilterObject = None
    """Only answers whose metadata match."""
    candidates: int = Field(5, ge=1, le=32)
    """Number of stored texts to judge, the nearest by cosine."""
    min_version: VersionText = None
    """Answer from this version of the collection or a later one."""


class CacheEntry(ResponseBody):
    """A stored answer."""

    id: str
    """Id of the entry."""
    text: str
    """The question that was stored."""
    answer: JsonValue
    """The stored answer, of any type."""
    metadata: dict[str, JsonValue]
    """Further fields of the entry."""
    expires_at: float | None
    """Seconds since 1970; null if it does not expire."""


class Refusal(ResponseBody):
    """A stored text that does not say the same, or perhaps does not."""

    id: str
    """Id of the entry."""
    text: str
    """Its question."""
    verdict: Verdict
    """Why it does not answer the question."""


class Lookup(ResponseBody):
    """The answer of the stored text with the highest log-odds, if it says the same."""

    hit: CacheEntry | None
    """The entry that answers the question; null if none does."""
    verdict: Verdict | None
    """Of the hit; null without one."""
    refused: list[Refusal]
    """The stored texts that were not taken, the highest log-odds first; empty with a hit."""
    bound: FalseHitBound | None
    """The bound on false hits, if one was fitted."""
    model: str
    """Name of the model."""
    space: Space
    version: str
    """Of the collection that was read."""
    warnings: Warnings
    usage: Usage
    """Cost of the request."""


class CacheStoreRequest(RequestBody):
    """A text and its answer, which replaces the answer of the same text in the same scope."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "text": "How do I turn on dark mode?",
                    "answer": "Under Settings, choose Appearance.",
                    "scope": {"tenant": "acme"},
                    "ttl_s": 86400,
                }
            ]
        }
    )

    text: Annotated[String, documented(minLength=1, pattern=TEXT_PATTERN)]
    """The question."""
    answer: CachedAnswer
    """Text or any other JSON; with the metadata, at most 65,536 characters."""
    scope: CacheScope = Field(default_factory=dict)
    """Fields that a lookup must have, exactly these, such as the tenant."""
    metadata: MetadataObject = Field(default_factory=dict)
    """Further fields of the entry, by which lookups filter."""
    ttl_s: Annotated[int | None, Field(ge=1, le=MAX_TTL_S)] = None
    """Seconds for which the answer counts; null is for good."""
    tokens: Annotated[int | None, Field(ge=0, le=1_000_000_000)] = None
    """Tokens that the answer cost; each hit counts them as saved, in the metrics."""


class CacheStored(ResponseBody):
    """The id of the stored answer, and the version of the collection that has it."""

    id: str
    """Id of the entry."""
    version: str
    """Send it as `min_version` with a lookup."""
    expires_at: float | None
    """When it expires; null is never."""
    warnings: Warnings
    usage: Usage
    """Cost of the request."""
