"""/collections/{name}/duplicates: groups of near-duplicates."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from fastapi import APIRouter, Request, Response

from semblance.service.api.cursors import Place, read_cursor, write_cursor
from semblance.service.api.ndjson import MEDIA_TYPE, StreamAnswer, answer_lines
from semblance.service.api.refusals import ENCODING, FIELDS, READ, responses
from semblance.service.api.routing import StrictRoute, Use
from semblance.service.api.schemas.duplicates import (
    DuplicateGroup,
    DuplicateOut,
    DuplicatesBroken,
    DuplicatesDone,
    DuplicatesFound,
    DuplicatesRequest,
)
from semblance.service.api.schemas.explain import word_links_out
from semblance.service.api.schemas.fields import CollectionInPath
from semblance.service.api.schemas.warnings import warnings_out
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
    "bad_cursor",
    "bad_filter",
    "bad_version",
    "ill_formed_text",
    "not_explainable",
    "not_finite",
    "space_mismatch",
    "unknown_collection",
    "unknown_measure",
    "version_mismatch",
)
# described in words, as the body of NDJSON is: code generators do not support such a media type
_ANSWER = {
    "responses": {
        "200": {
            "content": {
                MEDIA_TYPE: {
                    "schema": {"type": "string"},
                    "example": '{"groups":[],"checked":64,"cursor":"WyJhIiwgMF0="}\n{"done":true,"groups":0}\n',
                }
            }
        }
    }
}


@router.post(
    "/duplicates", summary="Find near-duplicates", responses=_REFUSALS, openapi_extra=_ANSWER, response_class=Response
)
async def find_duplicates(
    name: CollectionInPath, body: DuplicatesRequest, find: Use[FindDuplicates], metrics: Use[Metrics], request: Request
) -> Response:
    """Groups of documents that a chain of scores links, as they are found.

    The answer is NDJSON: a line for every 64 documents, with the groups that begin among them, and a last one. If it
    ends without that, send the `cursor` of the last line to go on. Two documents that are cut compare by the mean of
    their passages' best scores, the smaller of both directions.
    """
    params = DuplicateParams(
        collection=name,
        threshold=body.min_score,
        measure=body.measure,
        where=body.filter,
        explain=body.explain,
        after=read_cursor(body.cursor).after,
        limit=body.limit,
        min_version=body.min_version,
    )
    report = _Report(await find.open(params))
    lines = answer_lines(report, metrics, request.scope["request_id"])
    return StreamAnswer(lines, media_type=MEDIA_TYPE, headers={"x-accel-buffering": "no"})


class _Report:
    """Reports groups as they are found."""

    def __init__(self, search: DuplicateSearch) -> None:
        self._search = search

    async def lines(self) -> AsyncIterator[DuplicatesFound | DuplicatesDone]:
        search, count = self._search, 0
        async for batch in search.batches():
            count += len(batch.groups)
            yield DuplicatesFound(
                groups=[self._group(each) for each in batch.groups],
                checked=batch.checked,
                cursor=write_cursor(Place(batch.after)),
            )
        yield DuplicatesDone(
            groups=count,
            cursor=write_cursor(Place(search.ids[-1])) if search.more else None,
            model=search.encoder.name,
            space=search.encoder.space,
            measure=search.measure.name,
            warnings=warnings_out(search.warnings),
        )

    def broken(self, code: str, detail: str) -> DuplicatesBroken:
        return DuplicatesBroken(error=code, detail=detail)

    def _group(self, group: Sequence[Duplicate]) -> DuplicateGroup:
        explainer = self._search.explained_by
        return DuplicateGroup(
            documents=[
                DuplicateOut(
                    id=each.id,
                    text=each.text,
                    like=each.like,
                    score=each.score,
                    explanation=each.why and word_links_out(each.why, explainer),
                )
                for each in group
            ]
        )
