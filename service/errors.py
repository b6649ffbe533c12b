"""What can go wrong in the service, beside the errors of the science. Their texts may be shown to a client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from semblance.models.errors import SemblanceError


@dataclass(frozen=True, slots=True)
class Problem:
    """One refused part of a request: a JSON pointer to it, a stable code, and a sentence for people."""

    pointer: str
    code: str
    detail: str


class NoSuchDevice(SemblanceError):
    """The configured device is not there; found at start, and no request ever meets it."""

    code = "no_such_device"


class StoreInUse(SemblanceError):
    """Another process has the document store; found at start, and no request ever meets it."""

    code = "store_in_use"


class BadKeys(SemblanceError):
    """SEMBLANCE_API_KEYS is malformed; found at start, and no request ever meets it."""

    code = "bad_keys"


class Unauthorized(SemblanceError):
    """The route wants a key, and the request shows none that is known here."""

    code = "unauthorized"


class Forbidden(SemblanceError):
    """The key of the request lacks the scope that the route wants."""

    code = "forbidden"


class StoreTooNew(SemblanceError):
    """A later release has changed the tables of the store; found at start, and no request ever meets it."""

    code = "store_too_new"


class NoStore(SemblanceError):
    """There are no documents in the folder that a command should look at; no request ever meets it."""

    code = "no_store"


class BadBackup(SemblanceError):
    """A folder holds no backup, or one that is damaged or of a later release; no request ever meets it."""

    code = "bad_backup"


class InvalidRequest(SemblanceError):
    """Parts of the request are refused, for different reasons or for how they go together.

    `problems` names every one of them.
    """

    code = "invalid_request"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{self.problems[0].pointer}: {self.problems[0].detail}")


class UnknownMeasure(SemblanceError):
    """No measure of that name."""

    code = "unknown_measure"


class UnknownModel(SemblanceError):
    """No model of that name is served."""

    code = "unknown_model"


class UnknownCollection(SemblanceError):
    """No collection of that name."""

    code = "unknown_collection"


class UnknownDocument(SemblanceError):
    """No document of that id in the collection."""

    code = "unknown_document"


class CollectionDiffers(SemblanceError):
    """The collection exists with other settings, which cannot change."""

    code = "collection_differs"


class SpaceMismatch(SemblanceError):
    """The collection's vectors were made by a model, or a version of it, that is not served now."""

    code = "space_mismatch"


class RolloverDiffers(SemblanceError):
    """The collection is being re-embedded under another model already: finish that, or drop it."""

    code = "rollover_differs"


class NoRollover(SemblanceError):
    """The collection is not being re-embedded: begin a roll-over first."""

    code = "no_rollover"


class RolloverUnfinished(SemblanceError):
    """The next model has not embedded every document yet, so that it cannot take the place of the present one."""

    code = "rollover_unfinished"


class VersionMismatch(SemblanceError):
    """`min_version` is of another life of the collection: it was deleted and created anew, or restored."""

    code = "version_mismatch"


class VersionNotReached(SemblanceError):
    """This process has not yet seen the version that was asked for; try again soon."""

    code = "version_not_reached"


class StoreUnavailable(SemblanceError):
    """The database that holds the documents did not answer; nothing, or all, of the write is stored. Try again soon."""

    code = "store_unavailable"


class WriteConflict(SemblanceError):
    """Another writer changed the same documents at the same time, again and again; try again."""

    code = "write_conflict"


class ModelUnavailable(SemblanceError):
    """The model could not be loaded; the operator finds the reason in the log."""

    code = "model_unavailable"


class ModelLoading(SemblanceError):
    """The model is being loaded; try again soon."""

    code = "model_loading"


class TooManyTokens(SemblanceError):
    """The texts of one request have more tokens than SEMBLANCE_MAX_REQUEST_TOKENS, those in the cache not counted."""

    code = "too_many_tokens"


class Overloaded(SemblanceError):
    """Too many tokens are waiting for the model; try again after the time that the answer says."""

    code = "overloaded"

    def __init__(self, message: str, retry_after_s: int) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class NotReady(SemblanceError):
    """The process is going down, or cannot answer at the moment; try another one, or again soon."""

    code = "not_ready"

    def __init__(self, message: str = "the service is going down") -> None:
        super().__init__(message)


class Overtaken(Exception):
    """Another writer was faster, and what this write counted on no longer holds: look again. Never reaches a client."""


class TextChanged(Overtaken):
    """A stored text is not what it was."""


class CollectionReplaced(Overtaken):
    """The collection was deleted and made anew, or other encoders are to fill it."""
