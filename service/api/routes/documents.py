"""/collections/{name}/documents: storing, showing and deleting documents."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.routing import APIRoute

from semblance.service.api.errors import responses
from semblance.service.api.limits import require_at_most
from semblance.service.api.ndjson import MEDIA_TYPE, StreamAnswer, answered, read_lines
from semblance.service.api.paths import DOCUMENTS
from semblance.service.api.schemas.collections import (
    Deleted,
    DocumentList,
    DocumentOut,
    DocumentsRequest,
    DocumentsResponse,
    document_out,
)
from semblance.service.api.schemas.request import Usage
from semblance.service.api.services import Services, Use
from semblance.service.api.text_types import CURSOR_PATTERN, CollectionInPath, DocumentInPath
from semblance.service.errors import InvalidRequest, Problem
from semblance.service.ports.documents import Document


class _AlsoLines(APIRoute):
    """A route that takes its body as JSON, or as NDJSON if the envelope lets it through as such."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What serves a request."""
        as_json = super().get_route_handler()

        async def handler(request: Request) -> Response:
            if request.scope["streamed"]:
                return await _store_lines(request)
            return await as_json(request)

        return handler


router = APIRouter(prefix=DOCUMENTS, tags=["documents"], route_class=_AlsoLines)

MAX_PAGE = 1000

Cursor = Annotated[
    str | None, Query(json_schema_extra={"pattern": CURSOR_PATTERN}, description="From the page before.")
]

_LINES = {
    "requestBody": {
        "content": {
            MEDIA_TYPE: {
                "schema": {"type": "string"},
                "example": '{"id": "1", "text": "A text."}\n{"id": "2", "text": "Another."}\n',
            }
        }
    },
    "responses": {
        "200": {
            "content": {
                MEDIA_TYPE: {
                    "schema": {"type": "string"},
                    "example": '{"through_line":2,"upserted":2,"version":"5f3a:1","truncated":[],"errors":[]}\n'
                    '{"done":true,"upserted":2,"failed":0,"version":"5f3a:1"}\n',
                }
            }
        }
    },
}


@router.post("", responses=responses(400, 404, 409, 413, 415, 422, 429, 503), openapi_extra=_LINES)
async def store(name: CollectionInPath, body: DocumentsRequest, use: Use) -> DocumentsResponse:
    """Store documents in one transaction, all or none; an id that exists is replaced.

    A 422 names every document that is refused, by its position.

    As NDJSON, one document a line and any number of them, they are stored in batches of at most 256. Each batch is
    answered with a line when it is on disk; only lines up to its `through_line` are acknowledged. Lines that cannot be
    stored are listed, and the others kept.
    """
    require_at_most("/documents", len(body.documents), use.settings.max_documents, "documents")
    documents = [Document(each.id, each.text, each.metadata) for each in body.documents]
    indexed = await use.index_documents(name, documents)
    return DocumentsResponse(
        upserted=indexed.upserted,
        version=str(indexed.version),
        truncated=list(indexed.truncated),
        usage=Usage(tokens=indexed.tokens),
    )


async def _store_lines(request: Request) -> Response:
    use: Services = request.app.state.services
    name = request.path_params["name"]
    # a collection that is not there is told before the answer begins
    await use.index_documents.require_open(name)
    lines = read_lines(request.stream(), use.settings.max_body_bytes)
    return StreamAnswer(answered(use.index_stream(name, lines), use.metrics), media_type=MEDIA_TYPE)


@router.get("", responses=responses(404, 422, 503))
async def list_(
    name: CollectionInPath, use: Use, limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 100, cursor: Cursor = None
) -> DocumentList:
    """Documents by id, a page at a time."""
    found = await use.index_documents.page(name, _read_cursor(cursor), limit + 1)
    page = found[:limit]
    return DocumentList(
        documents=[document_out(document) for document in page],
        cursor=_cursor(page[-1].id) if len(found) > limit else None,
    )


@router.get("/{doc_id:path}", responses=responses(404, 503))
async def show(name: CollectionInPath, doc_id: DocumentInPath, use: Use) -> DocumentOut:
    """One document."""
    return document_out(await use.index_documents.get(name, doc_id))


@router.delete("/{doc_id:path}", responses=responses(404, 503))
async def delete(name: CollectionInPath, doc_id: DocumentInPath, use: Use) -> Deleted:
    """Delete one document."""
    return Deleted(deleted=1, version=str(await use.index_documents.delete(name, doc_id)))


def _cursor(doc_id: str) -> str:
    return base64.urlsafe_b64encode(doc_id.encode()).decode()


def _read_cursor(cursor: str | None) -> str:
    try:
        return base64.b64decode(cursor or "", altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise InvalidRequest(
            [Problem("/cursor", "bad_cursor", "give the cursor as an earlier page gave it")]
        ) from error
