"""/collections/{name}/duplicates: groups of near-duplicates."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from fastapi import APIRouter, Request, Response

from semblance.service.api.cursors import Place, read_cursor, write_cursor
from semblance.service.api.formats import accepted_format
from semblance.service.api.ndjson import MEDIA_TYPE as NDJSON
from semblance.service.api.ndjson import StreamAnswer, answer_lines
from semblance.service.api.refusals import ENCODING, FIELDS, INDEX, READ, responses
from semblance.service.api.routing import StrictRoute, Use, json_answer, require_at_most
from semblance.service.api.schemas.duplicates import (
    DuplicatesBroken,
    DuplicatesDone,
    DuplicatesFound,
    DuplicatesPage,
    DuplicatesRequest,
    group_out,
)
from semblance.service.api.schemas.fields import CollectionInPath
from semblance.service.api.schemas.warnings import warnings_out
from semblance.service.errors import CollectionReplaced, WriteConflict
from semblance.service.observability.metrics import Metrics
from semblance.service.usecases.documents.duplicates import (
    Duplicate,
    DuplicateParams,
    DuplicateSearch,
    FindDuplicates,
)

router = APIRouter(prefix="/collections/{name}", tags=["search"], route_class=StrictRoute)

_REFUSALS = responses(
    *FIELDS,
    *ENCODING,
    *READ,
    *INDEX,
    "bad_cursor",
    "bad_filter",
    "bad_version",
    "ill_formed_text",
    "not_acceptable",
    "not_explainable",
    "not_finite",
    "space_mismatch",
    "unknown_collection",
    "unknown_measure",
    "version_mismatch",
    "write_conflict",
)

Format: TypeAlias = Literal["json", "ndjson"]

MEDIA_TYPES: Mapping[Format, str] = {"json": "application/json", "ndjson": NDJSON}
PAGE, MAX_PAGE = 1000, 10_000  # documents checked for an answer in JSON

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
    responses=_REFUSALS,
    openapi_extra=_LINES,
)
async def find_duplicates(
    name: CollectionInPath, body: DuplicatesRequest, find: Use[FindDuplicates], metrics: Use[Metrics], request: Request
) -> Response:
    """Groups of documents that a chain of scores links.

    JSON is a page, after which `cursor` goes on. NDJSON (`Accept: application/x-ndjson`) is sent as groups are found: a
    line for every 64 documents, with the groups that begin among them, and a last one. If it ends without that, send
    the `cursor` of the last line to go on. Two documents that are cut compare by the mean of their passages' best
    scores, the smaller of both directions.
    """
    format_ = accepted_format(request, MEDIA_TYPES)
    if format_ == "json":
        require_at_most("/limit", body.limit or PAGE, MAX_PAGE, "documents of an answer in JSON")
    params = DuplicateParams(
        collection=name,
        threshold=body.min_score,
        measure=body.measure,
        where=body.filter,
        explain=body.explain,
        after=read_cursor(body.cursor).after,
        limit=body.limit or (PAGE if format_ == "json" else None),
        min_version=body.min_version,
    )
    if format_ == "json":
        page = _page(*await find.all_groups(params))
        return await json_answer("duplicates", len(page.groups), page.model_dump_json)
    lines = answer_lines(_Report(await find.open(params)), metrics, request.scope["request_id"])
    return StreamAnswer(lines, media_type=NDJSON, headers={"x-accel-buffering": "no"})


class _Report:
    """Reports groups as they are found."""

    def __init__(self, search: DuplicateSearch) -> None:
        self._search = search

    async def lines(self) -> AsyncIterator[DuplicatesFound | DuplicatesDone]:
        """A line for each batch, and one with the outcome."""
        count = 0
        try:
            async for batch in self._search.batches():
                count += len(batch.groups)
                groups = [group_out(each, self._search.explained_by) for each in batch.groups]
                yield DuplicatesFound(groups=groups, checked=batch.checked, cursor=write_cursor(Place(batch.after)))
        except CollectionReplaced:  # what was sent may not hold any more
            name = self._search.params.collection
            raise WriteConflict(f"collection {name!r} was recreated during the search; begin again") from None
        yield DuplicatesDone(groups=count, **_outcome(self._search))

    def broken(self, code: str, detail: str) -> DuplicatesBroken:
        """The last line after an error."""
        return DuplicatesBroken(error=code, detail=detail)


def _page(search: DuplicateSearch, groups: Sequence[Sequence[Duplicate]]) -> DuplicatesPage:
    shown = [group_out(each, search.explained_by) for each in groups]
    return DuplicatesPage(groups=shown, checked=len(search.ids), **_outcome(search))


def _outcome(search: DuplicateSearch) -> dict[str, Any]:
    return {
        "cursor": write_cursor(Place(search.ids[-1])) if search.more else None,
        "model": search.encoder.name,
        "space": search.encoder.space,
        "measure": search.measure.name,
        "warnings": warnings_out(search.warnings),
    }
