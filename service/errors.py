"""Errors of the service beside those in `models.errors`; clients may see their messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from semblance.models.errors import ModelFailed, SemblanceError

MAX_STEP = 100  # characters of a name in a pointer: an unknown name may be as long as the body


def pointer_to(*steps: str | int) -> str:
    """JSON pointer (RFC 6901) of some steps; long ones are shortened.

    >>> pointer_to("documents", 3, "a/b")
    '/documents/3/a~1b'
    """
    shortened = (shorten(str(step), MAX_STEP) for step in steps)
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in shortened)


def shorten(text: str, most: int) -> str:
    """The beginning of a text that is too long.

    >>> shorten("abcd", 4), shorten("abcde", 4)
    ('abcd', 'abc…')
    """
    return text if len(text) <= most else text[: most - 1] + "…"


@dataclass(frozen=True, slots=True)
class Problem:
    """One invalid part of a request: JSON pointer, stable code, and a message."""

    pointer: str
    code: str
    detail: str


def messages_of(problems: Sequence[Problem]) -> list[str]:
    """A message for each kind of problem: the first place, how many more, and what is wrong.

    >>> messages_of([Problem(f"/input/{i}", "empty_text", "it has no tokens") for i in range(3)])
    ['/input/0 and 2 more: it has no tokens']
    """
    places: dict[str, list[str]] = {}
    for problem in problems:
        places.setdefault(problem.detail, []).append(problem.pointer)
    return [_message(detail, pointers) for detail, pointers in places.items()]


def _message(detail: str, pointers: Sequence[str]) -> str:
    more = f" and {len(pointers) - 1:,} more" if len(pointers) > 1 else ""
    place = pointers[0] + more
    return f"{place}: {detail}" if place else detail


class NoSuchDevice(SemblanceError):
    """The configured device is not available; raised at start only."""

    code = "no_such_device"


class StoreInUse(SemblanceError):
    """Another process uses the document store; raised at start only."""

    code = "store_in_use"


class BadKeys(SemblanceError):
    """An entry of the API keys is malformed; raised at start, logged when they are read again."""

    code = "bad_keys"


class Unauthorized(SemblanceError):
    """The route requires an API key, and the request has none or an unknown one."""

    code = "unauthorized"


class Forbidden(SemblanceError):
    """The API key lacks the scope that the route requires, or its limits exclude the request.

    `caller` is the name of the key where a request is rejected before its caller is known.
    """

    code = "forbidden"

    def __init__(self, message: str, caller: str = "") -> None:
        super().__init__(message)
        self.caller = caller


class StoreTooNew(SemblanceError):
    """A later release has migrated the document store; raised at start only."""

    code = "store_too_new"


class NoStore(SemblanceError):
    """The folder named on the command line holds no documents; raised by commands only."""

    code = "no_store"


class StoreMissing(SemblanceError):
    """The documents are gone, but their indexes are there; raised at start only."""

    code = "store_missing"


class BadBackup(SemblanceError):
    """The folder holds no backup, or a damaged or newer one; raised by commands only."""

    code = "bad_backup"


class PartsRefused(SemblanceError):
    """Parts of the request are rejected; `problems` lists them all."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(messages_of(self.problems)[0])


class InvalidRequest(PartsRefused):
    """Parts of the request are invalid, or contradict each other."""

    code = "invalid_request"


class ForbiddenDocuments(PartsRefused):
    """The limits of the API key exclude some documents of the request."""

    code = Forbidden.code


class EncodingFailed(PartsRefused):
    """The model fails on some texts, or gives them vectors that are not finite."""

    code = ModelFailed.code


class UnknownModel(SemblanceError):
    """No model of this name is served."""

    code = "unknown_model"


class UnknownCollection(SemblanceError):
    """There is no collection of this name."""

    code = "unknown_collection"


class UnknownDocument(SemblanceError):
    """The collection has no document with this id."""

    code = "unknown_document"

    def __init__(self, message: str, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class DocumentChanged(SemblanceError):
    """A document was stored or deleted since `if_version`; read it again."""

    code = "document_changed"


class CollectionDiffers(SemblanceError):
    """The collection exists with other settings; settings cannot be changed."""

    code = "collection_differs"


class UnknownAlias(SemblanceError):
    """The alias does not exist."""

    code = "unknown_alias"


class AliasConflict(SemblanceError):
    """An alias and a collection cannot have the same name; no collection is deleted by an alias."""

    code = "alias_conflict"


class SpaceMismatch(SemblanceError):
    """The vectors of the collection come from a model, or a version of it, that is not served."""

    code = "space_mismatch"


class ReembeddingDiffers(SemblanceError):
    """The collection is being re-embedded under another model; finish or drop that first."""

    code = "reembedding_differs"


class NoReembedding(SemblanceError):
    """The collection is not being re-embedded; start a re-embedding first."""

    code = "no_reembedding"


class ReembeddingUnfinished(SemblanceError):
    """The new model has not embedded every document yet; the switch has to wait."""

    code = "reembedding_unfinished"


class VersionMismatch(SemblanceError):
    """`min_version` is unknown: the collection was recreated, restored, or an alias switched."""

    code = "version_mismatch"


class HistoryLost(VersionMismatch):
    """The database was set back, and lost a version that a copy or an index has."""


class VersionNotReached(SemblanceError):
    """This replica has not reached the requested version yet; retry soon."""

    code = "version_not_reached"


class StoreUnavailable(SemblanceError):
    """The database did not respond; a write is stored entirely or not at all. Retry soon.

    Args:
        detail: for clients.
        refusal: for the operator: why the database refuses every connection of this process.
    """

    code = "store_unavailable"

    def __init__(self, detail: str, refusal: str = "") -> None:
        super().__init__(detail)
        self.refusal = refusal


class IndexUnavailable(SemblanceError):
    """The index on another server does not respond, or is being filled; retry soon."""

    code = "index_unavailable"


class NotWithRemoteIndex(SemblanceError):
    """The request needs an index in the memory of the replica, and SEMBLANCE_INDEX_URL is set."""

    code = "not_with_remote_index"


class StoreFull(SemblanceError):
    """The disk of the document store is full; nothing was stored. Free some space."""

    code = "store_full"


class StoreFailed(SemblanceError):
    """The disk of the document store fails or is read-only; nothing was stored."""

    code = "store_failed"


class StoreDamaged(SemblanceError):
    """The document store is damaged: `semblance index verify` lists what; restore a backup."""

    code = "store_damaged"


class IndexDamaged(StoreDamaged):
    """The index of a collection is damaged, and is rebuilt from the documents; retry soon."""

    def __init__(self, index: object, error: Exception) -> None:
        self.index = index
        super().__init__("the index of the collection is damaged, and is being rebuilt from its documents; retry soon")
        self.add_note(repr(error))


class WriteConflict(SemblanceError):
    """Concurrent writes to the same documents kept conflicting; retry."""

    code = "write_conflict"


class ModelUnavailable(SemblanceError):
    """The model could not be loaded; the log of the service has the reason."""

    code = "model_unavailable"


class ModelLoading(SemblanceError):
    """The model is being loaded; retry soon."""

    code = "model_loading"


class TooManyTokens(SemblanceError):
    """The request exceeds SEMBLANCE_MAX_REQUEST_TOKENS, cached texts excluded."""

    code = "too_many_tokens"

    @classmethod
    def of(cls, tokens: int, limit: int) -> Self:
        """The error of a request with that many tokens."""
        return cls(f"{tokens:,} tokens that are not cached exceed the limit of {limit:,} per request: send fewer texts")


class Overloaded(SemblanceError):
    """Too much work waits for the model, or for threads; retry after the time in Retry-After."""

    code = "overloaded"

    def __init__(self, message: str, retry_after_s: int) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class NotReady(SemblanceError):
    """The process is shutting down or cannot respond now; retry with another replica, or soon."""

    code = "not_ready"

    def __init__(self, message: str = "the service is shutting down") -> None:
        super().__init__(message)


class OptimisticConflict(Exception):
    """Optimistic concurrency conflict: read again and retry. Never reaches a client."""


class TextChanged(OptimisticConflict):
    """A stored text changed since it was read."""


class CollectionReplaced(OptimisticConflict):
    """The collection was recreated, or its encoders changed, since it was read."""
