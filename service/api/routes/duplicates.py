"""/collections/{name}/duplicates: groups of near-duplicates."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal, TypeAlias

from fastapi import APIRouter, Request, Response
from semblance_client.vocabulary.duplicates import (
    DuplicatesBroken,
    DuplicatesDone,
    DuplicatesPage,
    DuplicatesRequest,
    FoundDuplicates,
)

from semblance.service.api.edge.context import context_of
from semblance.service.api.formats import accepted_format
from semblance.service.api.ndjson import MEDIA_TYPE as NDJSON
from semblance.service.api.ndjson import StreamAnswer, answer_lines
from semblance.service.api.parameters import CollectionInPath
from semblance.service.api.routing import StrictRoute, Use, json_answer
from semblance.service.errors import CollectionReplaced, WriteConflict
from semblance.service.observability.metrics import Metrics
from semblance.service.usecases.documents.duplicates import DuplicateSearch, FindDuplicates

router = APIRouter(prefix="/collections/{name}", tags=["search"], route_class=StrictRoute)

Format: TypeAlias = Literal["json", "ndjson"]

MEDIA_TYPES: Mapping[Format, str] = {"json": "application/json", "ndjson": NDJSON}

# described in words, as the body of NDJSON is: code generators do not support such a media type
_LINES: dict[str, Any] = {
    "responses": {
        "200": {
            "content": {
                NDJSON: {
                    "schema": {"type": "string"},
                    "example": '{"groups":[],"checked":64,"cursor":"WyJhIiwgMF0="}\n{"done":true,"groups":0}\n',
                }
            }
        }
    }
}


@router.post(
    "/duplicates",
    summary="Find near-duplicates",
    response_model=DuplicatesPage,
    openapi_extra=_LINES,
)
async def find_duplicates(
    name: CollectionInPath, body: DuplicatesRequest, find: Use[FindDuplicates], metrics: Use[Metrics], request: Request
) -> Response:
    """Groups of documents, each as similar to the first of its group as `min_score`.

    JSON is a page, after which `cursor` goes on. NDJSON (`Accept: application/x-ndjson`) is sent as groups are found: a
    line for every 64 documents, with the groups that begin among them, and a last one. If it ends without that, send
    the `cursor` of the last line to go on. Two documents that are cut compare by the mean of their passages' best
    scores, the smaller of both directions.
    """
    if accepted_format(request, MEDIA_TYPES) == "json":
        page = await find.page(name, body)
        return await json_answer("duplicates", len(page.groups), page.model_dump_json)
    report = _Report(name, await find.open(name, body))
    lines = answer_lines(report, metrics, context_of(request.scope).id)
    return StreamAnswer(lines, media_type=NDJSON, headers={"x-accel-buffering": "no"})


class _Report:
    """Reports groups as they are found."""

    def __init__(self, collection: str, search: DuplicateSearch) -> None:
        self._collection = collection
        self._search = search

    async def lines(self) -> AsyncIterator[FoundDuplicates | DuplicatesDone]:
        """A line for each batch, and one with the outcome."""
        count = 0
        try:
            async for batch in self._search.batches():
                count += len(batch.groups)
                yield batch
        except CollectionReplaced:  # what was sent may not hold any more
            raise WriteConflict(
                f"collection {self._collection!r} was recreated during the search; begin again"
            ) from None
        yield DuplicatesDone(groups=count, **self._search.outcome())

    def broken(self, code: str, detail: str) -> DuplicatesBroken:
        """The last line after an error."""
        return DuplicatesBroken(error=code, detail=detail)
