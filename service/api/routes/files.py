"""POST /files: files read as documents."""

from __future__ import annotations

from fastapi import APIRouter, Response
from semblance_client.vocabulary.files import FilesRead, FilesRequest

from semblance.service.api.paths import FILES
from semblance.service.api.routing import JsonRoute, Use
from semblance.service.files.sent_files import SentFiles

router = APIRouter(tags=["documents"], route_class=JsonRoute)


@router.post(FILES, summary="Read files as documents", response_model=FilesRead)
async def read_files(body: FilesRequest, files: Use[SentFiles]) -> Response:
    """Read files as documents, by the rules of `semblance index`, and store nothing.

    Tables and JSON have a document in each row, pages one a file or page. Encoding, separator and the fields of text
    and id follow from the content unless they are named. Files are read by a process of their own, within bounds of
    time and memory; one that cannot be read has a problem, and the others are read.
    """
    return Response(await files.read(body), media_type="application/json")
