"""A semantic cache over a collection: the answer of a stored text that says the same."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, Field, JsonValue, ValidationError
from semblance_client.vocabulary.caches import (
    CACHE_FIELD,
    EXPIRY_FIELD,
    SCOPE_FIELD,
    CacheEntry,
    CacheStored,
    CacheStoreRequest,
    Lookup,
    LookupRequest,
    Refusal,
)
from semblance_client.vocabulary.fields import MAX_METADATA_CHARS, metadata_too_large
from semblance_client.vocabulary.matching import DeleteRequest
from semblance_client.vocabulary.responses import Usage
from semblance_client.vocabulary.same import Verdict

from semblance.service.callers import Permission, current_permission, without_limits
from semblance.service.errors import InvalidRequest, PartsRefused, Problem
from semblance.service.filters import All, Between, Filter, Not, OneOf
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.documents import Document
from semblance.service.ports.paraphrases import LookupOutcome
from semblance.service.usecases.documents.by_filter import DocumentsByFilter
from semblance.service.usecases.documents.index import IndexDocuments
from semblance.service.usecases.paraphrases.nearest import JudgedDocument, JudgeNearest
from semblance.service.usecases.request_fields import requested_filter, requested_version

RESERVED = (CACHE_FIELD, SCOPE_FIELD, EXPIRY_FIELD)


class _Content(BaseModel):
    """An answer in the metadata of a document."""

    answer: JsonValue
    scope: dict[str, str]
    tokens: Annotated[int | None, Field(ge=0)]


class _EntryFields(BaseModel):
    """The reserved fields of an entry; a document may have others under these names."""

    cache: _Content
    cache_until: float | None = None


@dataclass(frozen=True, slots=True)
class _JudgedEntry:
    """A document that is an entry, and the verdict on its text."""

    document: Document
    own: _EntryFields
    verdict: Verdict

    @classmethod
    def of(cls, judged: JudgedDocument) -> _JudgedEntry | None:
        """The entry, None for another document."""
        try:
            own = _EntryFields.model_validate(judged.document.metadata)
        except ValidationError:
            return None
        return cls(judged.document, own, judged.verdict)

    def shown(self) -> CacheEntry:
        """The entry as a response has it."""
        return CacheEntry(
            id=self.document.id,
            text=self.document.text,
            answer=self.own.cache.answer,
            metadata={field: value for field, value in self.document.metadata.items() if field not in RESERVED},
            expires_at=self.own.cache_until,
        )

    def refusal(self) -> Refusal:
        """The entry as a text that was not taken."""
        return Refusal(id=self.document.id, text=self.document.text, verdict=self.verdict)


class Caches:
    """Looks answers up, and stores them as documents.

    The text of a document is that of the entry. Its metadata are those of the entry, with the answer in an object,
    which no index reads, and with a digest of its scope and the time at which it expires, by which lookups filter.
    """

    def __init__(
        self, nearest: JudgeNearest, documents: IndexDocuments, by_filter: DocumentsByFilter, metrics: Metrics
    ) -> None:
        self._nearest = nearest
        self._documents = documents
        self._by_filter = by_filter
        self._metrics = metrics

    async def look_up(self, name: str, request: LookupRequest) -> Lookup:
        """Find the answer of a stored text with a verdict of `same`, the highest log-odds first.

        Raises:
            UnknownCollection, SpaceMismatch, VersionMismatch, VersionNotReached, InvalidRequest: see
                semblance.service.errors.
        """
        asked, version = requested_filter(request.filter), requested_version(request.min_version)
        required = _answers_in(request.scope, time.time())
        found = await self._nearest.judge(name, request.text, request.candidates, version, asked, required)
        entries = [entry for each in found.documents if (entry := _JudgedEntry.of(each))]
        hit = next((entry for entry in entries if entry.verdict.verdict == "same"), None)
        saved = hit.own.cache.tokens or 0 if hit else 0
        self._metrics.add_answer_lookup("hit" if hit else refusal_of(entries[0].verdict if entries else None), saved)
        return Lookup(
            hit=hit and hit.shown(),
            verdict=hit and hit.verdict,
            refused=[] if hit else [entry.refusal() for entry in entries],
            bound=found.served.bound,
            model=found.encoder.name,
            space=found.encoder.space,
            version=str(found.version),
            warnings=list(found.warnings),
            usage=found.usage,
        )

    async def store(self, name: str, request: CacheStoreRequest) -> CacheStored:
        """Store an answer in place of that of the same text and scope.

        Before, answers that have expired are deleted.

        Raises:
            UnknownCollection, SpaceMismatch, InvalidRequest, WriteConflict, Forbidden: see semblance.service.errors.
        """
        now, permission = time.time(), current_permission()
        expires_at = None if request.ttl_s is None else now + request.ttl_s
        metadata = _metadata(request, expires_at, permission)
        document = Document(_id(request.text, request.scope, permission), request.text, metadata)
        with without_limits():  # expired answers of other keys, too
            await self._by_filter.delete(name, DeleteRequest(filter={EXPIRY_FIELD: {"lte": now}}))
        try:
            stored = await self._documents.store(name, [document])
        except PartsRefused as error:  # at the places of this request, not of one with documents
            places = (replace(each, pointer=each.pointer.removeprefix("/documents/0")) for each in error.problems)
            raise type(error)([*places]) from error
        return CacheStored(
            id=document.id,
            version=str(stored.version),
            expires_at=expires_at,
            warnings=list(stored.warnings),
            usage=Usage(tokens=stored.tokens),
        )


def refusal_of(likeliest: Verdict | None) -> LookupOutcome:
    """The heaviest reason against the likeliest text, if there is any text."""
    if likeliest is None:
        return "empty"
    if likeliest.unsure is not None and likeliest.unsure != "close_call":
        return likeliest.unsure
    return likeliest.reasons[0].kind if likeliest.reasons else "wording"


def _answers_in(scope: Mapping[str, str], now: float) -> Filter:
    """The answers of a scope that have not expired."""
    expired = Between(EXPIRY_FIELD, None, now, includes_low=True, includes_high=True)
    return All((OneOf(SCOPE_FIELD, (_digest(scope),)), Not(expired)))


def _metadata(request: CacheStoreRequest, expires_at: float | None, permission: Permission) -> dict[str, Any]:
    """The metadata of a document with an answer, with those that the key of the request demands.

    Raises:
        InvalidRequest: they have a name that is reserved, or are too large.
    """
    if taken := [field for field in RESERVED if field in request.metadata]:
        detail = "a cache keeps its own values in this field: choose another name"
        raise InvalidRequest([Problem(f"/metadata/{field}", "reserved_field", detail) for field in taken])
    owned = {each.field: each.values[0] for each in permission.conditions if len(each.values) == 1}
    own = {
        CACHE_FIELD: {"answer": request.answer, "scope": dict(request.scope), "tokens": request.tokens},
        SCOPE_FIELD: _digest(request.scope),
        **({} if expires_at is None else {EXPIRY_FIELD: expires_at}),
    }
    metadata = {**owned, **request.metadata, **own}
    if metadata_too_large(metadata):
        detail = f"with scope and metadata, it has more than {MAX_METADATA_CHARS:,} characters as JSON"
        raise InvalidRequest([Problem("/answer", "metadata_too_large", detail)])
    return metadata


def _id(text: str, scope: Mapping[str, str], permission: Permission) -> str:
    """The id of an entry: another one for each text, scope, and limits of the key."""
    conditions = [[each.field, *each.values] for each in permission.conditions]
    return permission.id_prefix + _digest({"text": text, "scope": dict(scope), "conditions": conditions})


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(dict(content), sort_keys=True).encode()).hexdigest()[:32]
