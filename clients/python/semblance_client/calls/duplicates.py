"""Groups of near-duplicates, page by page, resumed after interruptions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx2

from semblance_client.answer import Answer
from semblance_client.calls import wire
from semblance_client.errors import SemblanceError, Unavailable, UnexpectedAnswer, broken_answer, error_of
from semblance_client.explanation import Explanation
from semblance_client.steps import Retries, RetryTimer, Steps

DOCUMENTS_PER_REQUEST = 1024


class Duplicate(Answer):
    """A document of a group.

    Attributes:
        text: the document, or its passage that is most similar to one of `like`.
        like: the earlier document of the group that led to it; None for the first.
        score: that of the two.
        explanation: the words that make the score, if asked for.
    """

    id: str
    text: str
    like: str | None
    score: float | None
    explanation: Explanation | None = None


class DuplicateGroup(Answer):
    """Two or more documents that a chain of scores links."""

    documents: list[Duplicate]


class FoundDuplicates(Answer):
    """Groups that begin with one of the documents checked since the page before.

    Attributes:
        checked: documents so far.
    """

    groups: list[DuplicateGroup]
    checked: int


@dataclass(frozen=True, slots=True)
class DuplicateJob:
    """A search for duplicates that is not begun; see `duplicates`."""

    collection: str
    body: Mapping[str, Any]
    progress: Callable[[FoundDuplicates], None] | None

    def steps(self, retries: Retries) -> Steps[list[DuplicateGroup]]:
        """Ask for page after page. Raises SemblanceError."""
        groups: list[DuplicateGroup] = []
        page, checked, pause = _Page(), 0, 0.0
        timer = RetryTimer(retries)
        path = f"{wire.collection_path(self.collection)}/duplicates"
        while True:
            request = wire.request("POST", path, {**self.body, "limit": DOCUMENTS_PER_REQUEST, "cursor": page.cursor})
            try:
                response = yield replace(request, after_s=pause)
                page = _read(path, response, page.cursor)
            except SemblanceError as error:
                page = _Page(page.cursor, error=error)
            if page.checked:
                timer, pause, checked = RetryTimer(retries), 0.0, checked + page.checked
                groups += page.groups
                if self.progress is not None:
                    self.progress(FoundDuplicates(groups=page.groups, checked=checked))
            if page.error is not None:
                if not page.error.transient:
                    raise page.error
                pause = timer.pause(page.error)
            elif page.cursor is None:
                return groups


def duplicates(  # noqa: PLR0913 - one parameter a field of the request
    collection: str = "default",
    *,
    min_score: float,
    measure: str | None = None,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the field
    explain: bool = False,
    min_version: str | None = None,
    progress: Callable[[FoundDuplicates], None] | None = None,
) -> DuplicateJob:
    """Find groups of documents that a chain of scores links.

    Args:
        collection: where.
        min_score: least score of two documents that say the same; it depends on model, measure and texts.
        measure: the collection's own by default.
        filter: only among documents with this metadata.
        explain: whether to return the words behind each score.
        min_version: search this version of the collection or a later one.
        progress: called with the groups of each page as they are found.

    Example:
        >>> groups = client.duplicates(min_score=0.68)
        >>> [each.id for each in groups[0].documents]
        ['shipping-004', 'shipping-010']
    """
    body = wire.fields(
        min_score=min_score, measure=measure, filter=filter, explain=explain or None, min_version=min_version
    )
    return DuplicateJob(collection, body, progress)


@dataclass(frozen=True, slots=True)
class _Page:
    """Groups of an answer, documents checked, where to go on, and the error that ended it."""

    cursor: str | None = None
    groups: tuple[DuplicateGroup, ...] = ()
    checked: int = 0
    error: SemblanceError | None = None


def _read(path: str, response: httpx2.Response, cursor: str | None) -> _Page:
    """Read an answer; `cursor` is that of the request. Raises SemblanceError."""
    if response.is_error:
        raise error_of("POST", path, response)
    page = _Page(cursor)
    for line in filter(None, response.content.split(b"\n")):
        try:
            event = json.loads(line)
            if event.get("done"):
                return replace(page, cursor=event["cursor"])
            if "error" in event:
                return replace(page, error=broken_answer("POST", path, event, response))
            groups = tuple(DuplicateGroup.model_validate(each) for each in event["groups"])
            page = _Page(event["cursor"], page.groups + groups, event["checked"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnexpectedAnswer(f"POST {path}: the answer is not one of Semblance: {line[:200]!r}") from error
    return replace(page, error=Unavailable(f"POST {path}: the answer is incomplete"))
