"""/collections/{name}/documents: store, show and delete documents."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from semblance.service.api.cursors import Place, read_cursor, write_cursor
from semblance.service.api.edge.keys import DOCUMENTS
from semblance.service.api.ndjson import MEDIA_TYPE, StoreReport, StreamAnswer, answer_lines, read_lines
from semblance.service.api.refusals import ENCODING, FIELDS, READ, TEXTS, WRITE, responses
from semblance.service.api.routing import Services, StrictRoute, Use, require_at_most
from semblance.service.api.schemas.documents import (
    Deleted,
    DocumentAt,
    DocumentList,
    DocumentsRequest,
    DocumentsResponse,
    MetadataChanged,
    MetadataRequest,
    SimilarOut,
    document_out,
)
from semblance.service.api.schemas.fields import CURSOR_PATTERN, CollectionInPath, DocumentInPath, Usage, VersionText
from semblance.service.api.schemas.warnings import warnings_out
from semblance.service.errors import (
    IndexUnavailable,
    StoreUnavailable,
    UnknownCollection,
    VersionMismatch,
    VersionNotReached,
)
from semblance.service.observability.metrics import Metrics
from semblance.service.settings import Settings
from semblance.service.usecases.documents.duplicates import FindDuplicates
from semblance.service.usecases.documents.index import IndexDocuments, IndexingResult
from semblance.service.usecases.documents.index_stream import IndexStream
from semblance.service.usecases.documents.metadata import ChangeMetadata, MetadataChange


class _NdjsonRoute(StrictRoute):
    """A route that takes its body as JSON, or as NDJSON if the middleware admitted it as such."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of a request."""
        as_json = super().get_route_handler()

        async def handler(request: Request) -> Response:
            if request.scope["streamed"]:
                return await _store_lines(request)
            return await as_json(request)

        return handler


router = APIRouter(prefix=DOCUMENTS, tags=["documents"], route_class=_NdjsonRoute)

MAX_PAGE = 1000

Cursor = Annotated[
    str | None, Query(json_schema_extra={"pattern": CURSOR_PATTERN}, description="From the previous page.")
]

IfVersion = Annotated[VersionText | None, Query(description="Delete it only if it has not changed since; else 409.")]

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


_WITHOUT_INDEX = (IndexUnavailable, StoreUnavailable, UnknownCollection, VersionMismatch, VersionNotReached)

_NOT_STORED = responses(
    *FIELDS,
    *TEXTS,
    *ENCODING,
    *WRITE,
    "bad_id",
    "bad_version",
    "document_changed",
    "duplicate_id",
    "embedding_mismatch",
    "metadata_too_deep",
    "metadata_too_large",
    "not_finite",
    "space_mismatch",
    "unknown_collection",
    "version_mismatch",
    "write_conflict",
)


@router.post("", summary="Store documents", responses=_NOT_STORED, openapi_extra=_NDJSON_DOCS)
async def store_documents(
    name: CollectionInPath,
    body: DocumentsRequest,
    index: Use[IndexDocuments],
    duplicates: Use[FindDuplicates],
    settings: Use[Settings],
) -> DocumentsResponse:
    """Store documents in one transaction, all or none; an id that exists is replaced.

    A 422 names every refused document by its position. A text with an `embedding` is not encoded.

    NDJSON, sent as `application/x-ndjson` with one document a line, such as `{"id": "1", "text": "A text."}`, and any
    number of lines, is stored in batches of at most 256. Each batch is answered with a line when it is on disk, which
    acknowledges the lines up to its `through_line`. Lines that cannot be stored are listed, and the others stored. Of
    lines with the same id in a batch, the last is stored; `upserted` counts all.
    """
    require_at_most("/documents", len(body.documents), settings.max_documents, "documents")
    documents = [each.document() for each in body.documents]
    if_versions = {each.id: each.if_version for each in body.documents if each.if_version is not None}
    result = await index(name, documents, if_versions)
    similar = await _similar(duplicates, name, result, body) if body.if_similar else None
    return DocumentsResponse(
        upserted=result.upserted,
        version=str(result.version),
        truncated=list(result.truncated),
        similar=similar,
        warnings=warnings_out(result.warnings),
        usage=Usage(tokens=result.tokens),
    )


async def _similar(
    duplicates: FindDuplicates, name: str, stored: IndexingResult, body: DocumentsRequest
) -> list[SimilarOut] | None:
    """Documents similar to those just stored; None if these are not here yet, or gone again."""
    assert body.if_similar is not None
    wanted, ids = body.if_similar, [document.id for document in body.documents]
    try:
        found = await duplicates.similar(name, stored.version, ids, wanted.min_score, wanted.most)
    except _WITHOUT_INDEX:  # the documents are stored, whatever follows
        return None
    return [SimilarOut(id=own, like=near.id, score=near.score) for own, each in found.items() for near in each]


async def _store_lines(request: Request) -> Response:
    services: Services = request.app.state.services
    name = request.path_params["name"]
    # refuse an unknown collection with its own status, before the answer begins
    await services[IndexDocuments].check_writable(name)
    lines = read_lines(request.stream(), services[Settings].max_body_bytes)
    batches = services[IndexStream](name, lines)
    answer = answer_lines(StoreReport(batches), services[Metrics], request.scope["request_id"])
    return StreamAnswer(answer, media_type=MEDIA_TYPE)


@router.patch(
    "",
    summary="Change metadata of documents",
    responses=responses(
        *FIELDS,
        *WRITE,
        "bad_version",
        "document_changed",
        "duplicate_id",
        "ill_formed_text",
        "metadata_too_deep",
        "metadata_too_large",
        "not_finite",
        "unknown_collection",
        "unknown_document",
        "version_mismatch",
        "write_conflict",
    ),
)
async def change_metadata(
    name: CollectionInPath, body: MetadataRequest, change: Use[ChangeMetadata], settings: Use[Settings]
) -> MetadataChanged:
    """Set and remove metadata of documents in one transaction, all or none.

    Their texts are not encoded again.
    """
    require_at_most("/documents", len(body.documents), settings.max_documents, "documents")
    version = await change(
        name, [MetadataChange(each.id, each.metadata, each.remove, each.if_version) for each in body.documents]
    )
    return MetadataChanged(changed=len(body.documents), version=str(version))


@router.get(
    "",
    summary="List the documents of a collection",
    responses=responses(
        *READ, "bad_cursor", "invalid_request", "invalid_value", "out_of_range", "unknown_collection", "unknown_field"
    ),
)
async def list_documents(
    name: CollectionInPath,
    index: Use[IndexDocuments],
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 100,
    cursor: Cursor = None,
) -> DocumentList:
    """A page of documents, by id; of less than `limit` where texts are long."""
    page, more = await index.page(name, read_cursor(cursor).after, limit)
    return DocumentList(
        documents=[document_out(document) for document in page],
        cursor=write_cursor(Place(page[-1].id)) if more else None,
    )


@router.get(
    "/{doc_id:path}",
    summary="Show a document",
    responses=responses(*READ, "unknown_collection", "unknown_document", "unknown_field"),
)
async def get_document(name: CollectionInPath, doc_id: DocumentInPath, index: Use[IndexDocuments]) -> DocumentAt:
    """One document."""
    version, document = await index.get(name, doc_id)
    return DocumentAt(**document_out(document).model_dump(), version=str(version))


@router.delete(
    "/{doc_id:path}",
    summary="Delete a document",
    responses=responses(
        *WRITE,
        "bad_version",
        "document_changed",
        "unknown_collection",
        "unknown_document",
        "unknown_field",
        "version_mismatch",
    ),
)
async def delete_document(
    name: CollectionInPath, doc_id: DocumentInPath, index: Use[IndexDocuments], if_version: IfVersion = None
) -> Deleted:
    """Delete one document; with `if_version`, only if it has not changed since."""
    return Deleted(deleted=1, version=str(await index.delete(name, doc_id, if_version)))
