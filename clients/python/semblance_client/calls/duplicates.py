"""Groups of near-duplicates, page by page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from semblance_client.calls import wire
from semblance_client.steps import Retries, Steps
from semblance_client.vocabulary.duplicates import DuplicateGroup, FoundDuplicates

DOCUMENTS_PER_REQUEST = 1024


@dataclass(frozen=True, slots=True)
class DuplicateJob:
    """A search for duplicates that is not begun; see `duplicates`."""

    collection: str
    body: Mapping[str, Any]
    progress: Callable[[FoundDuplicates], None] | None

    def steps(self, retries: Retries) -> Steps[list[DuplicateGroup]]:
        """Ask for page after page. Raises SemblanceError."""
        groups: list[DuplicateGroup] = []
        path = f"{wire.collection_path(self.collection)}/duplicates"
        checked, cursor = 0, None
        while True:
            body = {**self.body, "limit": DOCUMENTS_PER_REQUEST, "cursor": cursor}
            page = yield from wire.post(path, body, FoundDuplicates).steps(retries)
            groups, checked, cursor = groups + page.groups, checked + page.checked, page.cursor
            if self.progress is not None:
                self.progress(page.model_copy(update={"checked": checked}))
            if cursor is None:
                return groups


def duplicates(  # noqa: PLR0913 - one parameter a field of the request
    collection: str = "default",
    *,
    min_score: float | None = None,
    measure: str | None = None,
    filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name of the field
    explain: bool = False,
    min_version: str | None = None,
    progress: Callable[[FoundDuplicates], None] | None = None,
) -> DuplicateJob:
    """Find groups of documents that are similar to the first of them.

    Args:
        collection: where.
        min_score: least score of two documents that say the same, 0.9 by default; the right one depends on model,
            measure and texts.
        measure: the collection's own by default.
        filter: only among documents with this metadata.
        explain: whether to return the words behind each score.
        min_version: search this version of the collection or a later one.
        progress: called with the groups of each page as they are found.

    Example:
        >>> groups = client.duplicates(min_score=0.68)
        >>> [each.id for each in groups[0].documents]
        ['returns-001', 'returns-016']
    """
    body = wire.fields(
        min_score=min_score, measure=measure, filter=filter, explain=explain or None, min_version=min_version
    )
    return DuplicateJob(collection, body, progress)
