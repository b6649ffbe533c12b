"""A search request, checked and parsed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from semblance_client.vocabulary.responses import RequestWarning
from semblance_client.vocabulary.search import Mode, SearchRequest

from semblance.models.tokenization.glossary import NO_GLOSSARY, Glossary
from semblance.service.filters import Filter
from semblance.service.ports.documents import Version
from semblance.service.ports.indexes import FacetQuery
from semblance.service.sorting import Order
from semblance.service.usecases.request_fields import (
    RequestLimits,
    requested_facets,
    requested_filter,
    requested_version,
    require_at_most,
)
from semblance.service.usecases.search.boosts import unread_dates
from semblance.service.usecases.search.choice import Choice
from semblance.service.usecases.search.ordering import Step
from semblance.service.usecases.search.results import SearchHit
from semblance.service.usecases.text_embedder import InputText

# they contain nine of the ten best by rcmd, or more, on real collections: benchmarks/quality/candidates.py
DEFAULT_CANDIDATES = 100
_UNREAD = "no hit has a date in the field {field!r} as ISO 8601 writes them, such as 2026-05-31, or seconds since 1970"
RESCORED_PASSAGES = 3  # of a document, the nearest by vector; the best of them makes the score of a measure


@dataclass(frozen=True, slots=True)
class SearchParams:
    """A request and its queries. Measures other than the index's own rescore the `candidates`.

    Attributes:
        mode: how the documents are found.
        steps: numbers of candidates, fewest first; the last has enough for the page.
        read_as: the queries that replace those of the request; None where one is as it was sent.
        glossary: of the collection.
    """

    request: SearchRequest
    mode: Mode
    queries: Sequence[InputText]
    steps: Sequence[Step]
    where: Filter | None
    min_version: Version | None
    read_as: Sequence[str | None]
    glossary: Glossary = NO_GLOSSARY

    @classmethod
    def of(cls, request: SearchRequest, limits: RequestLimits) -> SearchParams:
        """Check a request.

        Raises:
            InvalidRequest: it exceeds a limit, or its filter or version is malformed.
        """
        queries = [InputText(text, f"/queries/{i}") for i, text in enumerate(request.queries or [])]
        if request.query is not None:
            queries = [InputText(request.query, "/query")]
        mode = request.mode or ("hybrid" if request.like is None else "vector")
        params = cls(
            request=request,
            mode=mode,
            queries=queries,
            steps=_steps(request, mode, limits.max_candidates),
            where=requested_filter(request.filter),
            min_version=requested_version(request.min_version),
            read_as=[None] * len(queries),
        )
        params._require_within(limits)
        return params

    def _require_within(self, limits: RequestLimits) -> None:
        request, count = self.request, max(1, len(self.queries))
        hits = count * request.k * request.group_size
        require_at_most("/queries", len(self.queries), limits.max_texts, "queries")
        require_at_most("/k", request.k, limits.max_k, "hits")
        require_at_most("/offset", request.offset + request.k, limits.max_k, "hits (offset and k)")
        require_at_most("/candidates", self.candidates, limits.max_candidates, "candidates")
        require_at_most("/queries", hits, limits.max_hits, "hits (queries times k and group_size)")
        if request.explain or request.highlight:
            require_at_most("/queries", hits, limits.max_explained, "explanations")
        if request.keep:
            require_at_most(
                "/queries", hits * request.passages, limits.max_explained, "passages whose sentences are kept"
            )
        ranked = count * self.ranked
        require_at_most("/candidates", ranked, limits.max_hits, "hits to choose from (queries times candidates)")

    @property
    def candidates(self) -> int:
        """Number of candidates."""
        return self.steps[-1].candidates

    @property
    def sizes(self) -> Sequence[int]:
        """Numbers of candidates of all steps."""
        return [step.candidates for step in self.steps]

    @property
    def choice(self) -> Choice:
        """Which of the ranked hits to return."""
        request, sort = self.request, self.request.sort
        order = None if sort is None else Order(sort.field, sort.descending)
        return Choice(request.group_by, request.group_size, request.diversity, order)

    @property
    def passages(self) -> int:
        """Passages of a document to look up: several if text fields have weights."""
        request = self.request
        return max(request.passages, RESCORED_PASSAGES) if request.field_weights else request.passages

    @property
    def page(self) -> slice:
        """Places of the hits or groups to return."""
        return slice(self.request.offset, self.request.offset + self.request.k)

    @property
    def facets(self) -> Mapping[str, FacetQuery]:
        """Facets to count, by metadata field."""
        return requested_facets(self.request.facets)

    @property
    def named_fields(self) -> Mapping[str, str]:
        """Metadata fields that the request names beside its filter, by the pointers to them."""
        request = self.request
        named = {f"/facets/{i}/field": each.field for i, each in enumerate(request.facets)}
        named |= {f"/boosts/{i}/field": each.field for i, each in enumerate(request.boosts)}
        named |= {f"/fields/{i}": field for i, field in enumerate(request.fields or [])}
        named |= {"/group_by": request.group_by} if request.group_by else {}
        return named | ({"/sort/field": request.sort.field} if request.sort else {})

    @property
    def counts_hits(self) -> bool:
        """Whether a threshold decides which documents the facets count."""
        thresholds = (self.request.min_score, self.request.min_probability)
        return bool(self.request.facets) and thresholds != (None, None)

    @property
    def ranked(self) -> int:
        """Number of hits to rank; if some are chosen, boosted, reranked or counted, all candidates."""
        request = self.request
        adds = request.boosts or request.field_weights
        more = self.choice or self.counts_hits or adds or request.rerank_model is not None
        return self.candidates if more else self.page.stop


def warned(
    request: SearchRequest, found: Sequence[RequestWarning], hits: Sequence[Sequence[SearchHit]]
) -> list[RequestWarning]:
    """Warnings about metadata fields, also by the hits: no object is unknown; dates are read."""
    metadata = [hit.document.metadata for each in hits for hit in each]
    objects = {
        f"/fields/{i}" for i, field in enumerate(request.fields or []) if any(field in each for each in metadata)
    }
    unread = [
        RequestWarning(pointer=f"/boosts/{i}/field", code="unread_date", detail=_UNREAD.format(field=boost.field))
        for i, boost in enumerate(request.boosts)
        if boost.half_life_days and unread_dates([each.get(boost.field) for each in metadata])
    ]
    return [*(each for each in found if each.pointer not in objects), *unread]


def _steps(request: SearchRequest, mode: Mode, most: int) -> list[Step]:
    """Twice as many candidates in each step, whose hits come behind those of the steps before.

    Of two lists, half of the candidates may come from each. What needs all candidates at once has one step.
    """
    size, wanted = DEFAULT_CANDIDATES, request.offset + request.k
    at_once = request.sort or request.group_by or request.diversity or request.rerank_model
    if request.candidates or at_once:
        size = request.candidates or max(size, request.k)
        return [Step(size, size)]
    lists = 1 if mode in ("vector", "lexical") else 2
    steps = [Step(size, size // lists)]
    while steps[-1].hits < wanted and size < most:
        size = min(2 * size, most)
        steps.append(Step(size, size // lists if size < most else size))
    return steps
