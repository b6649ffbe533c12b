"""Find the documents of a collection that are most similar to a query."""

from __future__ import annotations

from dataclasses import replace

from semblance_client.vocabulary.search import SearchRequest, SearchResults

from semblance.models.catalogue import explainable, required_vectors, similarity
from semblance.models.embeddings import Want
from semblance.models.protocols import Encoder
from semblance.service.errors import CollectionReplaced, WriteConflict
from semblance.service.ports.calibration import Calibrations, find_calibration
from semblance.service.ports.documents import Collection, PassageKey, unknown_document
from semblance.service.ports.embedding import ServedRerankers
from semblance.service.ports.indexes import IndexReader
from semblance.service.replication.access import CollectionAccess
from semblance.service.turns import Offload
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.glossaries import glossary_of
from semblance.service.usecases.request_fields import RequestLimits, require_at_most
from semblance.service.usecases.search.boosts import check_weights
from semblance.service.usecases.search.good_matches import Evidence, GoodMatches
from semblance.service.usecases.search.params import SearchParams
from semblance.service.usecases.search.rescoring import INDEX_MEASURE, PassageScorer
from semblance.service.usecases.search.session import ATTEMPTS, SearchSession
from semblance.service.usecases.search.spelling import as_joined, read_as, written_out
from semblance.service.usecases.text_embedder import InputText, TextEmbedder, TextEmbeddings, Truncation


class Search:
    """Finds documents in the index; rescores them if the measure is not the index's own."""

    def __init__(
        self,
        collections: Collections,
        access: CollectionAccess,
        rerankers: ServedRerankers,
        texts: TextEmbedder,
        calibrations: Calibrations,
        limits: RequestLimits,
    ) -> None:
        self._collections = collections
        self._access = access
        self._rerankers = rerankers
        self._texts = texts
        self._calibrations = calibrations
        self._good_matches = GoodMatches(access, texts)
        self._limits = limits
        self._offload = Offload()

    async def search(self, request: SearchRequest) -> SearchResults:
        """Find the documents most similar to each query.

        Raises:
            UnknownCollection, UnknownModel, UnknownMeasure, NotExplainable, SpaceMismatch, VersionMismatch,
            VersionNotReached, InvalidRequest, WriteConflict: see the errors of models and service.
        """
        request = request.model_copy(update={"collection": await self._access.resolve(request.collection)})
        params = SearchParams.of(request, self._limits)
        for _ in range(ATTEMPTS):
            try:
                session = await self._open(params)
                return await session.results(await session.consistent_ranking())
            except CollectionReplaced:
                # Start over: not even the encoder need be the same. The queries are in the cache. The refresh waits
                # for the writer thread, and so for a replacement under way.
                await self._access.refresh_index(request.collection)
        raise WriteConflict(f"collection {request.collection!r} was recreated during the search; retry")

    async def _open(self, params: SearchParams) -> SearchSession:
        request = params.request
        collection, index = await self._access.current(request.collection, params.min_version)
        check_weights(request.field_weights, collection)
        measure = similarity(request.measure or collection.settings.measure)
        explainer = explainable(measure.name) if request.explain else None
        encoder = await self._collections.encoder_of(collection)
        want: Want = "tokens" if explainer or request.highlight or request.keep else required_vectors(measure)
        if request.mode is None and not index.has_terms:
            params = replace(params, mode="vector")
        params = replace(params, glossary=glossary_of(collection))
        params = await written_out(params, index, self._access)
        params = await as_joined(params, index, self._access)
        params = await read_as(params, index, self._access, self._texts, encoder)
        params, queries = await self._encoded(params, encoder, want)
        reranker = await self._rerankers.get(request.rerank_model) if request.rerank_model is not None else None
        if measure.name != INDEX_MEASURE or reranker:
            scores = len(params.queries) * params.candidates
            require_at_most("/candidates", scores, self._limits.max_scores, "scores (queries times candidates)")
        return SearchSession(
            params=params,
            scorer=PassageScorer(self._access, self._texts, collection, encoder, measure, params.glossary),
            index=index,
            calibration=find_calibration(self._calibrations, encoder, measure.name, request.min_probability),
            explainer=explainer,
            reranker=reranker,
            queries=queries,
            evidence=await self._evidence(params, collection, index, encoder),
            offload=self._offload,
        )

    async def _evidence(
        self, params: SearchParams, collection: Collection, index: IndexReader, encoder: Encoder
    ) -> list[Evidence | None]:
        """The evidence of good matches; None unless both vectors and terms are searched."""
        if params.mode not in ("hybrid", "auto") or params.request.like is not None:
            return [None] * len(params.queries)
        queries = [query.text for query in params.queries]
        return await self._good_matches.evidence(queries, collection, index, encoder)

    async def _encoded(self, params: SearchParams, encoder: Encoder, want: Want) -> tuple[SearchParams, TextEmbeddings]:
        """The search with its queries, encoded.

        A document in place of them becomes a query; one that is cut, by its first passage, or with PASSAGES by all of
        them. Raises UnknownDocument.
        """
        name, doc_id, truncation = params.request.collection, params.request.like, Truncation(params.request.truncate)
        if doc_id is None:
            return params, await self._texts.embed(encoder, params.queries, "query", want, truncation)
        read = await self._access.read(lambda store: store.get_cut(name, [doc_id]))
        if doc_id not in read.documents:
            raise unknown_document(name, doc_id, pointers=["/like"])
        first = PassageKey(doc_id, 0)
        whole = self._texts.mode(encoder, truncation) == "PASSAGES"
        text = InputText(read.documents[doc_id].text if whole else read.texts([first])[first], "/like")
        embedded = await self._texts.embed(encoder, [text], "document", want, truncation)
        truncated = [embedded.truncated[0] or (doc_id in read.spans and not whole)]
        return replace(params, queries=[text], read_as=[None]), replace(embedded, truncated=truncated)
