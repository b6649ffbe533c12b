"""POST /search and /suggest: the documents most similar to a text, and how it may go on."""

from __future__ import annotations

from fastapi import APIRouter, Response
from semblance_client.vocabulary.search import SearchRequest, SearchResults
from semblance_client.vocabulary.suggest import Suggestions, SuggestRequest

from semblance.service.api.routing import JsonRoute, Use, json_answer, with_truncated
from semblance.service.usecases.search.search import Search
from semblance.service.usecases.suggest import Suggest

router = APIRouter(tags=["search"], route_class=JsonRoute)


@router.post("/search", summary="Search a collection", response_model=SearchResults)
async def search(body: SearchRequest, find: Use[Search]) -> Response:
    """Find the k documents most similar to each query, among those that match the filter."""
    found = await find.search(body)
    answer = await json_answer("hits", _size(found), found.model_dump_json)
    return with_truncated(answer, sum(found.truncated), found.usage.passages)


@router.post("/suggest", summary="Suggest how a query may go on", response_model=Suggestions)
async def suggest(body: SuggestRequest, suggestions: Use[Suggest]) -> Response:
    """Values of a metadata field, and words of the documents, that begin as a query does."""
    found = await suggestions.suggest(body)
    return Response(found.model_dump_json(), media_type="application/json")


def _size(found: SearchResults) -> int:
    """Approximate number of characters of the response."""
    hits = [hit for result in found.results for hit in result.hits]
    links = sum(len(hit.explanation.links) for hit in hits if hit.explanation)
    texts = sum(len(hit.text) * (1 + len(hit.passages)) * (1 + bool(hit.sentences)) for hit in hits)
    return 200 + 100 * links + 300 * len(hits) + texts
