"""/collections/{name}/documents: store, show and delete documents."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from semblance_client.vocabulary.documents import (
    Changed,
    Deleted,
    DocumentPage,
    DocumentsRequest,
    MetadataRequest,
    ReadDocument,
    Stored,
)
from semblance_client.vocabulary.fields import CURSOR_PATTERN, VERSION_PATTERN
from semblance_client.vocabulary.matching import MAX_PAGE

from semblance.models.errors import SemblanceError
from semblance.service.api.edge.context import context_of
from semblance.service.api.ndjson import MEDIA_TYPE, StoreReport, StreamAnswer, answer_lines, read_lines
from semblance.service.api.parameters import CollectionInPath, DocumentInPath, collection_of
from semblance.service.api.paths import DOCUMENTS
from semblance.service.api.routing import StrictRoute, Use
from semblance.service.errors import pointer_to
from semblance.service.observability.metrics import Metrics
from semblance.service.ports.documents import Document
from semblance.service.services import Services
from semblance.service.settings import Settings
from semblance.service.usecases.documents.index import IndexDocuments
from semblance.service.usecases.documents.index_stream import IndexStream
from semblance.service.usecases.documents.metadata import ChangeMetadata
from semblance.service.usecases.documents.store import StoreDocuments


class _NdjsonRoute(StrictRoute):
    """A route that takes its body as JSON, or as NDJSON if the middleware admitted it as such."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of a request."""
        as_json = super().get_route_handler()

        async def handler(request: Request) -> Response:
            if context_of(request.scope).streamed:
                return await _store_lines(request)
            try:
                return await as_json(request)
            except RequestValidationError as error:
                raise RequestValidationError([*error.errors(), *await _more_problems(request, error)]) from error

        return handler


router = APIRouter(prefix=DOCUMENTS, tags=["documents"], route_class=_NdjsonRoute)

CursorParameter = Annotated[
    str | None, Query(json_schema_extra={"pattern": CURSOR_PATTERN}, description="From the previous page.")
]
IfVersion = Annotated[
    str | None,
    Query(
        json_schema_extra={"pattern": VERSION_PATTERN},
        description="Delete it only if it has not changed since; else 409.",
    ),
]

# the body as NDJSON is described in words: code generators do not support such a media type, and report that
_NDJSON_DOCS = {
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


@router.post("", summary="Store documents", openapi_extra=_NDJSON_DOCS)
async def store_documents(name: CollectionInPath, body: DocumentsRequest, documents: Use[StoreDocuments]) -> Stored:
    """Store documents in one transaction, all or none; an id that exists is replaced.

    A 422 names every document, by its position, with wrong fields, ids that repeat and texts that cannot be read. Only
    without these are `if_version` and embeddings checked. A text with an `embedding` is not encoded.

    NDJSON, sent as `application/x-ndjson` with one document a line, such as `{"id": "1", "text": "A text."}`, and any
    number of lines, is stored in batches of at most 256. Once a batch is on disk, a line of the response
    acknowledges the lines up to its `through_line`. Lines that cannot be stored are listed, and the others stored. Of
    lines with the same id in a batch, the last is stored; `upserted` counts all.
    """
    return await documents.store(name, body)


async def _more_problems(request: Request, error: RequestValidationError) -> list[dict[str, Any]]:
    """Ids that repeat and texts that cannot be stored, named beside the wrong fields."""
    given = error.body.get("documents") if isinstance(error.body, dict) else None
    services: Services = request.app.state.services
    if not isinstance(given, list) or len(given) > services[Settings].max_documents:
        return []
    documents = {i: each for i, fields in enumerate(given) if (each := _readable(fields))}
    try:
        name = await collection_of(request.path_params["name"], request)
        problems = await services[IndexDocuments].problems_of(name, documents)
    except SemblanceError:  # the fields are wrong, whatever else there is
        return []
    named = {pointer_to(*each["loc"][1:]) for each in error.errors()}
    return [
        {"type": each.code, "loc": ("body", *each.pointer.split("/")[1:]), "msg": each.detail}
        for each in problems
        if each.pointer not in named
    ]


def _readable(fields: object) -> Document | None:
    """A document of a body whose fields may be wrong; None without an id and a text."""
    match fields:
        case {"id": str(doc_id), "text": str(text), **others}:
            metadata = others.get("metadata")
            return Document(doc_id, text, metadata if isinstance(metadata, dict) else {})
    return None


async def _store_lines(request: Request) -> Response:
    services: Services = request.app.state.services
    name = await collection_of(request.path_params["name"], request)
    # reject an unknown collection with its own status, before the response begins
    await services[IndexDocuments].check_writable(name)
    lines = read_lines(request.stream(), services[Settings].max_body_bytes)
    batches = services[IndexStream].store(name, lines)
    answer = answer_lines(StoreReport(batches), services[Metrics], context_of(request.scope).id)
    return StreamAnswer(answer, media_type=MEDIA_TYPE)


@router.patch("", summary="Change metadata of documents")
async def change_metadata(name: CollectionInPath, body: MetadataRequest, metadata: Use[ChangeMetadata]) -> Changed:
    """Set and remove metadata of documents in one transaction, all or none.

    Their texts are not encoded again.
    """
    return await metadata.change(name, body)


@router.get("", summary="List the documents of a collection")
async def list_documents(
    name: CollectionInPath,
    index: Use[IndexDocuments],
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE, description="Most documents.")] = 100,
    cursor: CursorParameter = None,
) -> DocumentPage:
    """A page of documents, by id; of less than `limit` where texts are long."""
    return await index.page(name, cursor, limit)


@router.get("/{doc_id:path}", summary="Show a document")
async def get_document(name: CollectionInPath, doc_id: DocumentInPath, index: Use[IndexDocuments]) -> ReadDocument:
    """One document."""
    return await index.get(name, doc_id)


@router.delete("/{doc_id:path}", summary="Delete a document")
async def delete_document(
    name: CollectionInPath, doc_id: DocumentInPath, index: Use[IndexDocuments], if_version: IfVersion = None
) -> Deleted:
    """Delete one document; with `if_version`, only if it has not changed since."""
    return await index.delete(name, doc_id, if_version)
