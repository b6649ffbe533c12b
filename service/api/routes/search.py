"""POST /search: the documents most similar to a text."""

from __future__ import annotations

from collections import defaultdict

from fastapi import APIRouter, Response

from semblance.models.measures.highlight import Highlight
from semblance.models.tokenization.terms import document_terms
from semblance.service.api.refusals import ENCODING, FIELDS, INDEX, READ, TEXTS, responses
from semblance.service.api.routing import JsonRoute, Use, json_answer, require_at_most
from semblance.service.api.schemas.calibration import calibration_out, probability_of
from semblance.service.api.schemas.explain import word_links_out
from semblance.service.api.schemas.fields import Usage
from semblance.service.api.schemas.matching import facets_out
from semblance.service.api.schemas.search import (
    FacetsOut,
    HighlightOut,
    HitOut,
    Hits,
    MarkOut,
    PassageOut,
    SearchRequest,
    SearchResponse,
    TermMatchOut,
    TermOut,
)
from semblance.service.api.schemas.warnings import warnings_out
from semblance.service.settings import Settings
from semblance.service.usecases.embed import InputText
from semblance.service.usecases.search.choice import Choice
from semblance.service.usecases.search.hits import ScoredPassage, SearchHit, TermMatch
from semblance.service.usecases.search.ordering import Mode, term_bonus
from semblance.service.usecases.search.params import Facets, SearchParams, SearchResults
from semblance.service.usecases.search.search import Search
from semblance.service.usecases.search.session import HIGHLIGHT_MEASURE

router = APIRouter(tags=["search"], route_class=JsonRoute)

# they contain nine of the ten best by rcmd, or more, on real collections: benchmarks/quality/candidates.py
DEFAULT_CANDIDATES = 100


_REFUSALS = responses(
    *FIELDS,
    *TEXTS,
    *ENCODING,
    *READ,
    *INDEX,
    "bad_filter",
    "bad_version",
    "not_explainable",
    "not_calibrated",
    "not_finite",
    "space_mismatch",
    "unknown_collection",
    "unknown_document",
    "unknown_measure",
    "version_mismatch",
    "write_conflict",
)


@router.post("/search", summary="Search a collection", response_model=SearchResponse, responses=_REFUSALS)
async def search(body: SearchRequest, find: Use[Search], settings: Use[Settings]) -> Response:
    """Find the k documents most similar to each query, among those that match the filter."""
    queries = [InputText(text, f"/queries/{i}") for i, text in enumerate(body.queries or [])]
    if body.query is not None:
        queries = [InputText(body.query, "/query")]
    candidates = body.candidates or max(DEFAULT_CANDIDATES, body.k)
    require_at_most("/queries", len(queries), settings.max_texts, "queries")
    require_at_most("/k", body.k, settings.max_k, "hits")
    require_at_most("/candidates", candidates, settings.max_candidates, "candidates")
    hits = max(1, len(queries)) * body.k * body.group_size
    require_at_most("/queries", hits, settings.max_hits, "hits (queries times k and group_size)")
    if body.explain or body.highlight:
        require_at_most("/queries", hits, settings.max_explained, "explanations")
    params = SearchParams(
        queries=queries,
        collection=body.collection,
        k=body.k,
        candidates=candidates,
        measure=body.measure,
        truncate=body.truncate,
        min_score=body.min_score,
        min_probability=body.min_probability,
        where=body.filter,
        explain=body.explain,
        min_version=body.min_version,
        passages=body.passages,
        mode=body.mode,
        highlight=body.highlight,
        like=body.like,
        facets={each.field: each.values for each in body.facets},
        choice=Choice(body.group_by, body.group_size, body.diversity),
    )
    ranked = max(1, len(queries)) * params.ranked
    require_at_most("/candidates", ranked, settings.max_hits, "hits to choose from (queries times candidates)")
    results = await find(params)
    return await json_answer("hits", _size(results), lambda: _answer(results).model_dump_json())


def _size(results: SearchResults) -> int:
    """Approximate number of characters of the answer."""
    all_hits = [hit for hits in results.hits for hit in hits]
    links = sum(len(hit.why.links.links) for hit in all_hits if hit.why)
    texts = sum(each.end - each.start + 100 for hit in all_hits for each in hit.passages)
    return 200 + texts + 200 * len(all_hits) + 100 * links


def _answer(results: SearchResults) -> SearchResponse:
    return SearchResponse(
        results=[
            Hits(hits=[_hit(hit, results) for hit in hits], facets=facets and _facets(facets))
            for hits, facets in zip(results.hits, results.facets, strict=True)
        ],
        model=results.encoder.name,
        space=results.encoder.space,
        measure=results.measure,
        calibration=calibration_out(results.calibration),
        scored_from=results.scored_from,
        version=str(results.version),
        truncated=list(results.truncated),
        warnings=warnings_out(results.warnings),
        usage=Usage(tokens=results.tokens),
    )


def _facets(facets: Facets) -> FacetsOut:
    return FacetsOut(count=facets.documents, facets=facets_out(facets.by_field), exact=facets.exact)


def _hit(hit: SearchHit, results: SearchResults) -> HitOut:
    document = hit.document
    return HitOut(
        id=document.id,
        score=hit.score,
        lexical=hit.match and _term_match(hit, hit.match, results.mode),
        probability=probability_of(results.calibration, hit.score),
        text=hit.text,
        start=hit.passages[0].start,
        end=hit.passages[0].end,
        passages=[_passage(document.text, each) for each in hit.passages] if results.passages > 1 else [],
        metadata=dict(document.metadata),
        truncated=document.truncated,
        highlight=hit.highlight and _highlight(hit, hit.highlight),
        explanation=hit.why and word_links_out(hit.why, results.measure),
    )


def _term_match(hit: SearchHit, match: TermMatch, mode: Mode) -> TermMatchOut:
    best = hit.passages[0]
    spans: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for term in document_terms(hit.text):
        spans[term.text].append((best.start + term.start, best.start + term.end))
    return TermMatchOut(
        vector_rank=match.vector_rank,
        term_rank=match.term_rank,
        score=match.score,
        bonus=match.bonus,
        combined=None if mode == "lexical" else hit.combined,
        terms=[
            TermOut(
                term=each.term,
                idf=each.idf,
                tf=each.tf,
                score=each.score,
                bonus=term_bonus(each, match.score, match.bonus),
                spans=spans[each.term],
            )
            for each in match.terms
        ],
    )


def _highlight(hit: SearchHit, found: Highlight) -> HighlightOut:
    """A highlight, with places in the document instead of the passage."""
    at, text = hit.passages[0].start, hit.document.text
    start, end = at + found.start, at + found.end
    return HighlightOut(
        text=text[start:end],
        start=start,
        end=end,
        cut_start=bool(text[:start].strip()),
        cut_end=bool(text[end:].strip()),
        marks=[
            MarkOut(start=at + each.start, end=at + each.end, contribution=each.contribution, query=list(each.query))
            for each in found.marks
        ],
        rest=found.rest,
        special=found.special,
        score=found.score,
        measure=HIGHLIGHT_MEASURE,
    )


def _passage(text: str, passage: ScoredPassage) -> PassageOut:
    return PassageOut(text=text[passage.start : passage.end], start=passage.start, end=passage.end, score=passage.score)
