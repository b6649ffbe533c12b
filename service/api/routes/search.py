"""POST /search: which documents are most like this text?"""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Response

from semblance.service.api.answers import written
from semblance.service.api.direct_route import DirectRoute
from semblance.service.api.errors import responses
from semblance.service.api.limits import require_at_most
from semblance.service.api.schemas.explain import explanation_out
from semblance.service.api.schemas.request import Usage
from semblance.service.api.schemas.search import HitOut, Hits, SearchRequest, SearchResponse
from semblance.service.api.services import Use
from semblance.service.usecases.embed_texts import Given
from semblance.service.usecases.search import Found, SearchFor, SearchResults

router = APIRouter(tags=["search"], route_class=DirectRoute)

DEFAULT_CANDIDATES = (
    100  # hold nine of the ten best by rcmd, or more, on real collections: benchmarks/quality/candidates.py
)


@router.post("/search", response_model=SearchResponse, responses=responses(400, 404, 409, 413, 415, 422, 429, 503))
async def search(body: SearchRequest, use: Use) -> Response:
    """Find the k documents most like each query, among those that match the filter."""
    queries = [Given(text, f"/queries/{i}") for i, text in enumerate(body.queries or [])]
    if body.query is not None:
        queries = [Given(body.query, "/query")]
    candidates = body.candidates or max(DEFAULT_CANDIDATES, body.k)
    require_at_most("/queries", len(queries), use.settings.max_texts, "queries")
    require_at_most("/k", body.k, use.settings.max_k, "hits")
    require_at_most("/candidates", candidates, use.settings.max_candidates, "candidates")
    require_at_most("/queries", len(queries) * body.k, use.settings.max_hits, "hits")
    if body.explain:
        require_at_most("/queries", len(queries) * body.k, use.settings.max_explained, "explanations")
    results = await use.search(
        SearchFor(
            queries=queries,
            collection=body.collection,
            k=body.k,
            candidates=candidates,
            measure=body.measure,
            truncate=body.truncate,
            min_score=body.min_score,
            where=body.filter,
            explain=body.explain,
            min_version=body.min_version,
        )
    )
    return await written("hits", _size(results), lambda: _answer(queries, results).model_dump_json())


def _size(results: SearchResults) -> int:
    """About how many characters the answer has."""
    found = [hit for hits in results.hits for hit in hits]
    links = sum(len(hit.links.links) for hit in found if hit.links)
    return 200 + sum(len(hit.document.text) + 200 for hit in found) + 100 * links


def _answer(queries: Sequence[Given], results: SearchResults) -> SearchResponse:
    return SearchResponse(
        results=[_hits(query.text, hits, results.measure) for query, hits in zip(queries, results.hits, strict=True)],
        model=results.encoder.name,
        space=results.encoder.space,
        measure=results.measure,
        scored_from=results.scored_from,
        version=str(results.version),
        truncated=list(results.truncated),
        usage=Usage(tokens=results.tokens),
    )


def _hits(query: str, found: Sequence[Found], measure: str) -> Hits:
    return Hits(hits=[_hit(query, each, measure) for each in found])


def _hit(query: str, found: Found, measure: str) -> HitOut:
    document = found.document
    return HitOut(
        id=document.id,
        score=found.score,
        text=document.text,
        metadata=dict(document.metadata),
        explanation=found.links and explanation_out(found.links, measure, (query, document.text)),
    )
