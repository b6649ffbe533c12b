"""POST /search: the documents most similar to a text."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Response

from semblance.service.api.errors import responses
from semblance.service.api.routing import JsonRoute, Use, json_answer, require_at_most
from semblance.service.api.schemas.explain import explanation_out
from semblance.service.api.schemas.fields import Usage
from semblance.service.api.schemas.search import HitOut, Hits, SearchRequest, SearchResponse
from semblance.service.settings import Settings
from semblance.service.usecases.embed import InputText
from semblance.service.usecases.search import Search, SearchHit, SearchParams, SearchResults

router = APIRouter(tags=["search"], route_class=JsonRoute)

# they contain nine of the ten best by rcmd, or more, on real collections: benchmarks/quality/candidates.py
DEFAULT_CANDIDATES = 100


@router.post("/search", response_model=SearchResponse, responses=responses(400, 404, 409, 413, 415, 422, 429, 503))
async def search(body: SearchRequest, find: Use[Search], settings: Use[Settings]) -> Response:
    """Find the k documents most similar to each query, among those that match the filter."""
    queries = [InputText(text, f"/queries/{i}") for i, text in enumerate(body.queries or [])]
    if body.query is not None:
        queries = [InputText(body.query, "/query")]
    candidates = body.candidates or max(DEFAULT_CANDIDATES, body.k)
    require_at_most("/queries", len(queries), settings.max_texts, "queries")
    require_at_most("/k", body.k, settings.max_k, "hits")
    require_at_most("/candidates", candidates, settings.max_candidates, "candidates")
    require_at_most("/queries", len(queries) * body.k, settings.max_hits, "hits")
    if body.explain:
        require_at_most("/queries", len(queries) * body.k, settings.max_explained, "explanations")
    results = await find(
        SearchParams(
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
    return await json_answer("hits", _size(results), lambda: _answer(queries, results).model_dump_json())


def _size(results: SearchResults) -> int:
    """Approximate number of characters of the answer."""
    all_hits = [hit for hits in results.hits for hit in hits]
    links = sum(len(hit.links.links) for hit in all_hits if hit.links)
    return 200 + sum(len(hit.document.text) + 200 for hit in all_hits) + 100 * links


def _answer(queries: Sequence[InputText], results: SearchResults) -> SearchResponse:
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


def _hits(query: str, hits: Sequence[SearchHit], measure: str) -> Hits:
    return Hits(hits=[_hit(query, hit, measure) for hit in hits])


def _hit(query: str, hit: SearchHit, measure: str) -> HitOut:
    document = hit.document
    return HitOut(
        id=document.id,
        score=hit.score,
        text=document.text,
        metadata=dict(document.metadata),
        explanation=hit.links and explanation_out(hit.links, measure, (query, document.text)),
    )
