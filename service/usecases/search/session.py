"""A search in one epoch of a collection: rank by the index, rescore by the measure, explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from semblance_client.vocabulary.matching import Facets
from semblance_client.vocabulary.responses import Usage
from semblance_client.vocabulary.search import Hits, SearchResults

from semblance.models.alignment.highlight import HighlightOptions, highlight
from semblance.models.catalogue import explainable
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.nearest_passages import explain_passages
from semblance.models.protocols import Explainable, Reranker
from semblance.service.errors import CollectionReplaced
from semblance.service.observability.stages import timed
from semblance.service.ports.calibration import FittedCalibration
from semblance.service.ports.document_store import DocumentReader
from semblance.service.ports.documents import Collection, CutDocuments, PassageKey
from semblance.service.ports.indexes import HybridHits, IndexReader
from semblance.service.threads import until_left
from semblance.service.turns import Offload, in_thread
from semblance.service.usecases.explain.word_links import word_links
from semblance.service.usecases.pruning.hits import Totals, keep_of_hits
from semblance.service.usecases.search.boosts import passage_weights
from semblance.service.usecases.search.candidates import candidates
from semblance.service.usecases.search.good_matches import Evidence
from semblance.service.usecases.search.hits import IndexHits, RankedHit, RankedHits, codes_rank, ids_of, missing_terms
from semblance.service.usecases.search.ordering import NO_WEIGHTS, in_steps, ordered
from semblance.service.usecases.search.params import RESCORED_PASSAGES, SearchParams, warned
from semblance.service.usecases.search.rescoring import PassageScorer, Scores, ScoreSource
from semblance.service.usecases.search.results import (
    HIGHLIGHT_MEASURE,
    ScoredPassage,
    SearchHit,
    facets_response,
    place_of,
    response_chars,
)
from semblance.service.usecases.stages import pair_score, pairs_with
from semblance.service.usecases.text_embedder import InputText, TextEmbeddings

ATTEMPTS = 5  # of a request whose collection is replaced; and of a ranking whose hits are rewritten


@dataclass(frozen=True, slots=True)
class SearchSession:
    """One search in one epoch of a collection: index, encoder, measure, encoded queries."""

    params: SearchParams
    scorer: PassageScorer
    index: IndexReader
    calibration: FittedCalibration | None
    explainer: Explainable | None
    reranker: Reranker | None
    queries: TextEmbeddings
    evidence: Sequence[Evidence | None]
    offload: Offload

    async def consistent_ranking(self) -> RankedHits:
        """Rank the k best documents of each query, with documents as the index saw them.

        Raises:
            CollectionReplaced: the collection has another epoch or encoder than the session.
        """
        # Index and store are read one after the other, without a lock against writers. A hit that was rewritten in
        # between would show a new text with the score of the old one: search again, in the refreshed index. After the
        # last attempt, such hits are left out.
        session = self
        for _ in range(ATTEMPTS - 1):
            ranking = await session.ranking()
            if ranking.complete:
                return ranking
            session = await session.refreshed()
        return await session.ranking()

    async def refreshed(self) -> SearchSession:
        """The same session with an index brought up to the store. Raises CollectionReplaced."""
        await self.scorer.access.refresh_index(self.scorer.collection.name)
        collection, index = await self.scorer.access.current(self.scorer.collection.name, None)
        self._require_same(collection)
        return replace(self, index=index)

    async def ranking(self) -> RankedHits:
        """Rank the k best documents of each query, best first. Raises CollectionReplaced."""
        ranking = await (self._ordered_by_index() if self.scorer.source == "index" else self._ordered_by_measure())
        self._require_same(ranking.read.collection)
        if ranking.index.version.epoch != self.scorer.collection.version.epoch:
            raise CollectionReplaced
        if ranking.complete:
            return ranking
        # a re-embedding gives each document a new version, so that one search after the other would find them newer
        changes, newer = ranking.index.changes, ranking.newer
        return ranking.with_unchanged(await self.scorer.access.search(lambda _: self.index.unchanged(changes, newer)))

    async def _ordered_by_index(self) -> RankedHits:
        """Rank by the index, in one trip to a thread: the trip takes longer than either lookup."""
        params = self.params

        def query(store: DocumentReader) -> RankedHits:
            found = self._candidates([params.ranked] if params.mode == "vector" else params.sizes, params.passages)
            if not params.request.field_weights:
                hits = [self._ordered(each, None) for each in found.found]
                return RankedHits(found, hits, store.get_cut(self.scorer.collection.name, ids_of(hits)))
            read = store.get_cut(self.scorer.collection.name, found.ids)
            return RankedHits(found, [self._ordered(each, None, read) for each in found.found], read)

        with timed("search"):
            return await self.scorer.access.search(query)

    async def _ordered_by_measure(self) -> RankedHits:
        """Rank the candidates of the index by the measure."""
        params = self.params
        passages = max(RESCORED_PASSAGES, params.passages)
        with timed("search"):
            found = await self.scorer.access.search(lambda _: self._candidates(params.sizes, passages))
        scores: list[Scores] = []
        for query, own in zip(self.queries.embeddings, found.found, strict=True):
            keys = [PassageKey(hit.id, passage.number) for hit in own.hits for passage in hit.passages]
            scores.append(await self.scorer.scores(query, keys))
        scored = list(zip(found.found, scores, strict=True))
        if not params.request.field_weights:
            hits = [self._ordered(*each) for each in scored]
            return RankedHits(found, hits, await self.scorer.documents(ids_of(hits)))
        read = await self.scorer.documents(found.ids)
        return RankedHits(found, [self._ordered(*each, read) for each in scored], read)

    def _ordered(self, found: HybridHits, scores: Scores | None, read: CutDocuments | None = None) -> list[RankedHit]:
        """The hits of one query; `read` has all candidates if text fields have weights."""
        params = self.params
        weights = NO_WEIGHTS if read is None else passage_weights(read, found.hits, params.request.field_weights)
        hits = ordered(found, scores, params.mode, params.request.passages, weights)
        return in_steps(hits, found, params.steps)[: params.ranked]

    def _candidates(self, sizes: Sequence[int], passages: int) -> IndexHits:
        return candidates(self.index, self.params, self.queries.embeddings, sizes, passages)

    async def results(self, ranking: RankedHits) -> SearchResults:
        """Choose and explain hits as requested, and drop those below the threshold."""
        request, source = self.params.request, self.scorer.source
        hits = self._with_documents(ranking)
        if self.reranker:
            queries = zip(self.params.queries, hits, strict=True)
            hits = [await self._reranked(self.reranker, query, found) for query, found in queries]
        hits = await self._chosen(hits)
        facets = await self._facets(ranking) if request.facets else [None] * len(hits)
        if self.explainer:
            source = "encoder"
            hits = [
                await self._explain(self.explainer, *each) for each in zip(self.queries.embeddings, hits, strict=True)
            ]
        passing = [[hit for hit in each if self._is_enough(hit.score)] for each in hits]
        if request.highlight:
            options = HighlightOptions(request.highlight.chars, request.highlight.marks)
            pages = zip(self.queries.embeddings, passing, strict=True)
            passing = [await self._highlight(*each, options) for each in pages]
        found = await keep_of_hits(self.scorer, self.queries.embeddings, passing, request.keep)
        chars = response_chars(found[0])
        return await self.offload.run("hits", chars, lambda: self._response(*found, facets, ranking.index, source))

    def _with_documents(self, ranking: RankedHits) -> list[list[SearchHit]]:
        """Hits with their documents, except rewritten ones: their scores are of former texts."""
        documents, read = ranking.unchanged, ranking.read

        def with_document(hit: RankedHit) -> SearchHit:
            passages = [
                ScoredPassage(*read.span(PassageKey(hit.id, passage.number)), passage.score, passage.number)
                for passage in hit.passages
            ]
            hit_as_read = SearchHit(documents[hit.id], hit.score, read.searched(hit.id), passages, hit.terms)
            return hit_as_read.boosted(hit.weighted, self.params.request)

        found = [[with_document(hit) for hit in hits if hit.id in documents] for hits in ranking.hits]
        if not self.params.request.boosts:
            return found
        ranked = [sorted(hits, key=place_of) for hits in found]
        return [in_steps(*each, self.params.steps) for each in zip(ranked, ranking.index.found, strict=True)]

    def _response(
        self,
        hits: Sequence[Sequence[SearchHit]],
        kept: Totals,
        facets: Sequence[Facets | None],
        index: IndexHits,
        source: ScoreSource,
    ) -> SearchResults:
        params = self.params
        asked = zip(params.queries, params.read_as, hits, kept, facets, index.found, self.evidence, strict=True)
        return SearchResults(
            results=[
                Hits(
                    hits=[hit.response(params.request, params.mode, searched.codes, self.calibration) for hit in found],
                    facets=counted,
                    kept=totals,
                    codes=list(searched.codes),
                    read_as=read_as,
                    missing_terms=missing_terms(query.text, params.glossary.query_terms(query.text), searched.missing),
                    no_good_match=None if evidence is None else not evidence.is_good(searched),
                )
                for query, read_as, found, totals, counted, searched, evidence in asked
            ],
            model=self.scorer.encoder.name,
            space=self.scorer.encoder.space,
            rerank_model=self.reranker and self.reranker.name,
            mode=self.params.mode,
            measure=self.scorer.measure.name,
            calibration=self.calibration and self.calibration.summary,
            scored_from=source,
            version=str(index.version),
            truncated=list(self.queries.truncated),
            warnings=[*self.queries.warnings, *warned(params.request, index.warnings, hits)],
            usage=Usage(tokens=self.queries.tokens, passages=self.queries.passages),
        )

    async def _chosen(self, hits: Sequence[Sequence[SearchHit]]) -> list[list[SearchHit]]:
        """The hits to return: the best, or those of a choice among all that pass the threshold."""
        choice, page = self.params.choice, self.params.page
        if not choice:
            return [list(each[page]) for each in hits]
        passing = [[hit for hit in each if self._is_enough(hit.score)] for each in hits]
        ids = list({hit.document.id for each in passing for hit in each}) if choice.diversity else []
        vectors = await self.scorer.access.search(lambda _: self.index.vectors(ids)) if ids else {}
        return await in_thread(lambda: [choice.of(each, vectors, page) for each in passing])

    async def _reranked(self, reranker: Reranker, query: InputText, hits: Sequence[SearchHit]) -> list[SearchHit]:
        """Order the hits that pass the threshold by a reranker, which reads their best passages."""
        pairs = await pairs_with(query, reranker, self.scorer.texts)
        passing = [hit for hit in hits if self._is_enough(hit.score)]
        scored = await replace(self.scorer, encoder=pairs).embed({hit.best: hit.text for hit in passing}, "pooled")
        scores = {passage: pair_score(each) for passage, each in scored.items()}
        best = sorted(passing, key=lambda hit: (codes_rank(hit.terms), -scores[hit.best], hit.document.id))
        return [replace(hit, rerank_score=scores[hit.best]) for hit in best]

    async def _facets(self, ranking: RankedHits) -> list[Facets]:
        """Count what passes filter and threshold, for each query."""
        where, facets = self.params.where, self.params.facets

        def count() -> list[Facets]:
            matching = self.index.count(where, {} if self.params.counts_hits else facets)
            if not self.params.counts_hits:
                whole = Facets(count=matching.documents, facets=facets_response(matching.facets))
                return [whole] * len(ranking.hits)
            like = self.params.request.like
            own = 0 if like is None else self.index.count(where, {}, [like]).documents
            found: list[Facets] = []
            for hits in ranking.hits:
                passing = [hit.id for hit in hits if self._is_enough(hit.score)]
                counted = self.index.count(where, facets, passing)
                exact = len(hits) >= matching.documents - own or self._none_after(hits)
                found.append(Facets(count=counted.documents, facets=facets_response(counted.facets), exact=exact))
            return found

        return await self.scorer.access.search(lambda _: count())

    def _none_after(self, hits: Sequence[RankedHit]) -> bool:
        """Whether no document that was not scored can pass the threshold."""
        by_score = self.params.mode == "vector" and not self.params.request.field_weights
        in_order = by_score and self.scorer.source == "index" and self.index.exact
        return in_order and bool(hits) and not self._is_enough(hits[-1].score)

    async def _highlight(
        self, query: TokenEmbeddings, hits: Sequence[SearchHit], options: HighlightOptions
    ) -> list[SearchHit]:
        """Highlight the best passages, with the token vectors that are stored."""
        with timed("highlight"):
            explainer, glossary = explainable(HIGHLIGHT_MEASURE), self.params.glossary
            found = await self.scorer.of_tokens(
                [hit.document for hit in hits],
                {hit.best: hit.text for hit in hits},
                lambda tokens: highlight(explain_passages(explainer, query, tokens, glossary).by_word(), options),
            )
            return [hit.highlighted(found[hit.best]) for hit in hits]

    def _is_enough(self, score: float) -> bool:
        least, least_probability = self.params.request.min_score, self.params.request.min_probability
        if least is not None and score < least:
            return False
        if least_probability is None or self.calibration is None:
            return True
        return self.calibration.probability_of(score) >= least_probability

    def _require_same(self, now: Collection) -> None:
        """Raise CollectionReplaced if the collection has another epoch or encoder than the session."""
        own = self.scorer.collection
        if (now.version.epoch, now.settings.generation) != (own.version.epoch, own.settings.generation):
            raise CollectionReplaced

    async def _explain(
        self, explainer: Explainable, query: TokenEmbeddings, hits: Sequence[SearchHit]
    ) -> list[SearchHit]:
        """Encode the best passages again for score and links, so that the links sum to the score."""
        best = [PassageKey(hit.document.id, 0) for hit in hits]
        embedded = await self.scorer.embed({key: hit.text for key, hit in zip(best, hits, strict=True)}, "tokens")

        def explain() -> list[SearchHit]:
            measure = self.scorer.measure.name
            glossary = self.params.glossary
            links = [word_links(explainer, measure, query, embedded[key], glossary) for key in until_left(best)]
            return [hit.explained(why) for hit, why in zip(hits, links, strict=True)]

        explained = await in_thread(explain)
        if self.params.mode == "lexical" or self.params.choice or self.reranker:
            return explained
        return sorted(explained, key=place_of)
