"""A search in one epoch of a collection: rank by the index, rescore by the measure, explain."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from semblance.models.catalogue import required_vectors
from semblance.models.embeddings import TokenEmbeddings, Want, unit_rows
from semblance.models.measures.chunks import split_by_size
from semblance.models.measures.quantized_tokens import dequantize_many, is_codes
from semblance.models.protocols import Encoder, Explainable, Similarity
from semblance.models.text import TokenizedText, Truncate
from semblance.service.errors import CollectionReplaced
from semblance.service.filters import Filter
from semblance.service.observability.stages import timed
from semblance.service.ports.calibration import Calibration
from semblance.service.ports.documents import Collection, CutDocuments, DocumentStore, PassageKey, Version
from semblance.service.ports.indexes import Hit, PassageHit, VectorIndex
from semblance.service.replication.access import CollectionAccess
from semblance.service.request_warnings import RequestWarning
from semblance.service.usecases.embed import InputText, TextEmbedder, TextEmbeddings
from semblance.service.usecases.explain import RESCORED_PASSAGES, word_links
from semblance.service.usecases.search.hits import IndexHits, RankedHits, SearchHit, ids_of

log = logging.getLogger(__name__)

ScoreSource: TypeAlias = Literal["index", "token_codes", "encoder"]

INDEX_MEASURE = "cosine"  # the measure by which an index ranks
CHUNK = 32  # candidates scored in one thread: their tokens take 25 MB where each has 512 of 384 numbers
CONCURRENT_CHUNKS = 2  # of one request; other requests use the remaining threads
DECODED_BYTES = 1 << 19  # of codes decoded at a time, so that the vectors fit the CPU cache and memory is reused
ATTEMPTS = 5  # of a request whose collection is replaced; and of a ranking whose hits are rewritten

Item = TypeVar("Item")
Scores: TypeAlias = dict[PassageKey, float]


@dataclass(frozen=True, slots=True)
class SearchParams:
    """Queries and options. Measures other than the index's own rescore the `candidates`."""

    queries: Sequence[InputText]
    collection: str
    k: int
    candidates: int
    measure: str | None
    truncate: Truncate = "END"
    min_score: float | None = None
    min_probability: float | None = None
    where: Filter | None = None
    explain: bool = False
    min_version: Version | None = None
    passages: int = 1


@dataclass(frozen=True, slots=True)
class SearchResults:
    """Hits of each query, best first, with at most `passages` each.

    `scored_from` names the source of the documents' vectors.
    """

    encoder: Encoder
    measure: str
    version: Version
    scored_from: ScoreSource
    truncated: Sequence[bool]
    hits: Sequence[Sequence[SearchHit]]
    tokens: int
    warnings: Sequence[RequestWarning]
    calibration: Calibration | None
    passages: int


@dataclass(frozen=True, slots=True)
class SearchSession:
    """One search in one epoch of a collection: index, encoder, measure, encoded queries."""

    access: CollectionAccess
    texts: TextEmbedder
    params: SearchParams
    collection: Collection
    index: VectorIndex
    encoder: Encoder
    measure: Similarity
    calibration: Calibration | None
    explainer: Explainable | None
    queries: TextEmbeddings

    @property
    def source(self) -> ScoreSource:
        """Source of the documents' vectors.

        Only the index's own measure is scored from the index: it stores directions, and a measure may need the length
        of a pooled vector.
        """
        if self.measure.name == INDEX_MEASURE:
            return "index"
        coded = self.measure.needs != "pooled" and self.collection.settings.tokens == "int8"
        return "token_codes" if coded else "encoder"

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
        await self.access.refresh_index(self.collection.name)
        collection, index = await self.access.current(self.collection.name, None)
        self._require_same(collection)
        return replace(self, index=index)

    async def ranking(self) -> RankedHits:
        """Rank the k best documents of each query, best first. Raises CollectionReplaced."""
        ranking = await (self.nearest() if self.source == "index" else self.candidates())
        self._require_same(ranking.read.collection)
        if ranking.index.version.epoch != self.collection.version.epoch:
            raise CollectionReplaced
        return ranking

    async def nearest(self) -> RankedHits:
        """Rank by the index, in one trip to a thread: the trip takes longer than either lookup."""

        def query(store: DocumentStore) -> RankedHits:
            found = self._search_index(self.params.k, self.params.passages)
            return RankedHits(found, found.hits, store.get_cut(self.collection.name, ids_of(found.hits)))

        with timed("search"):
            return await self.access.search(query)

    async def candidates(self) -> RankedHits:
        """Rank the candidates of the index by the measure."""
        passages = max(RESCORED_PASSAGES, self.params.passages)
        with timed("search"):
            found = await self.access.search(lambda _: self._search_index(self.params.candidates, passages))
        rescored = [
            await self._rescore(query, [PassageKey(hit.id, each.number) for hit in hits for each in hit.passages])
            for query, hits in zip(self.queries.embeddings, found.hits, strict=True)
        ]
        hits = [self._best(each) for each in rescored]
        return RankedHits(found, hits, await self.documents(ids_of(hits)))

    async def documents(self, ids: Sequence[str]) -> CutDocuments:
        """Get documents by id, and the collection at the version that was read."""
        return await self.access.read(lambda store: store.get_cut(self.collection.name, ids))

    async def results(self, ranking: RankedHits) -> SearchResults:
        """Explain the hits if requested, and drop those below the minimum score or probability."""
        hits, source = ranking.search_hits(), self.source
        if self.explainer:
            source = "encoder"
            hits = [
                await self._explain(self.explainer, *each) for each in zip(self.queries.embeddings, hits, strict=True)
            ]
        return SearchResults(
            encoder=self.encoder,
            measure=self.measure.name,
            version=ranking.index.version,
            scored_from=source,
            truncated=self.queries.truncated,
            hits=[[hit for hit in each if self._is_enough(hit.score)] for each in hits],
            tokens=self.queries.tokens,
            warnings=[*self.queries.warnings, *ranking.index.warnings],
            calibration=self.calibration,
            passages=self.params.passages,
        )

    def _is_enough(self, score: float) -> bool:
        least, least_probability = self.params.min_score, self.params.min_probability
        if least is not None and score < least:
            return False
        if least_probability is None or self.calibration is None:
            return True
        return self.calibration.probability_of(score) >= least_probability

    def _require_same(self, collection: Collection) -> None:
        """Raise CollectionReplaced if the collection has another epoch or encoder than the session."""
        now, own = collection, self.collection
        if (now.version.epoch, now.settings.generation) != (own.version.epoch, own.settings.generation):
            raise CollectionReplaced

    def _search_index(self, k: int, passages: int) -> IndexHits:
        directions = unit_rows(np.stack([query.pooled() for query in self.queries.embeddings])).astype(np.float32)
        where = self.params.where
        version, hits = self.index.search(directions, k, where, passages)
        return IndexHits(version, hits, [] if where is None else self.index.mismatches(where))

    def _best(self, scores: Mapping[PassageKey, float]) -> list[Hit]:
        """The k best documents by their best passage, with their best passages."""
        of_documents: defaultdict[str, list[PassageHit]] = defaultdict(list)
        for passage, score in sorted(scores.items(), key=lambda each: (-each[1], each[0].number)):
            of_documents[passage.document].append(PassageHit(passage.number, score))
        hits = [Hit(doc_id, each[0].score, each[: self.params.passages]) for doc_id, each in of_documents.items()]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))[: self.params.k]

    async def _rescore(self, query: TokenEmbeddings, passages: Sequence[PassageKey]) -> Scores:
        """Score passages by the measure; deleted ones are left out."""
        scores: Scores = {}
        for chunks in _chunked(_chunked(passages, CHUNK), CONCURRENT_CHUNKS):
            embedded = [await self._embed_stored(chunk) if self.source == "encoder" else None for chunk in chunks]
            with timed("rescore"):
                scored = await asyncio.gather(
                    *(
                        self.access.search(partial(self._score_chunk, query, *each))
                        for each in zip(chunks, embedded, strict=True)
                    )
                )
            for each, _ in scored:
                scores |= each
            scores |= await self._score_damaged(query, [passage for _, damaged in scored for passage in damaged])
        return scores

    async def _score_damaged(self, query: TokenEmbeddings, passages: Sequence[PassageKey]) -> Scores:
        """Score passages whose token codes are damaged by encoding their texts again."""
        if not passages:
            return {}
        log.warning(
            "collection %s: the token codes of %r are damaged; its text is encoded again",
            self.collection.name,
            passages[0].document,
        )
        embedded = await self._embed_stored(passages)
        with timed("rescore"):
            return await asyncio.to_thread(self._score, query, list(embedded), list(embedded.values()))

    async def _embed_stored(self, passages: Sequence[PassageKey]) -> dict[PassageKey, TokenEmbeddings]:
        read = await self.documents([each.document for each in passages])
        return await self._embed(read.texts(passages), required_vectors(self.measure))

    async def _embed(self, passages: Mapping[PassageKey, str], want: Want) -> dict[PassageKey, TokenEmbeddings]:
        texts = [InputText(text, f"/documents/{passage.document}") for passage, text in passages.items()]
        embedded = await self.texts.embed(self.encoder, texts, "document", want)
        return dict(zip(passages, embedded.embeddings, strict=True))

    def _score_chunk(
        self,
        query: TokenEmbeddings,
        passages: Sequence[PassageKey],
        embedded: Mapping[PassageKey, TokenEmbeddings] | None,
        store: DocumentStore,
    ) -> tuple[Scores, list[PassageKey]]:
        """In a search thread: score passages by embeddings or, without any, stored token codes.

        Returns their scores, and those whose codes are damaged.
        """
        if embedded is not None:
            return self._score(query, list(embedded), list(embedded.values())), []
        codes = store.codes(self.collection.name, passages, self.collection.settings.generation)
        texts = self._tokenized(store, list(codes)) if self.measure.needs == "words" else None
        try:
            return self._score_codes(query, codes, texts), []
        except (ValueError, KeyError):
            intact = {passage: each for passage, each in codes.items() if self._is_intact(passage, each, texts)}
            return self._score_codes(query, intact, texts), [passage for passage in codes if passage not in intact]

    def _tokenized(self, store: DocumentStore, passages: Sequence[PassageKey]) -> dict[PassageKey, TokenizedText]:
        """The tokens of passages, which their token codes do not contain."""
        read = store.get_cut(self.collection.name, [each.document for each in passages])
        texts = read.texts(passages)
        return dict(zip(texts, self.encoder.tokenize(list(texts.values()), "document", "END"), strict=True))

    def _is_intact(self, passage: PassageKey, codes: bytes, texts: Mapping[PassageKey, TokenizedText] | None) -> bool:
        """Whether these are token codes and, if `texts` are given, of the tokens of that passage."""
        if texts is not None and passage not in texts:
            return False  # deleted since the codes were read
        return is_codes(codes, self.collection.settings.dim, None if texts is None else len(texts[passage]))

    def _score_codes(
        self,
        query: TokenEmbeddings,
        codes: Mapping[PassageKey, bytes],
        texts: Mapping[PassageKey, TokenizedText] | None,
    ) -> Scores:
        """Score passages by token codes. Raises ValueError, KeyError: some are damaged."""
        passages, scores = list(codes), Scores()
        for part in split_by_size([len(each) for each in codes.values()], DECODED_BYTES):
            embedded: Sequence[TokenEmbeddings] = dequantize_many([codes[each] for each in passages[part]])
            if texts is not None:
                own = [texts[each] for each in passages[part]]
                embedded = [_with_text(*each) for each in zip(embedded, own, strict=True)]
            scores |= self._score(query, passages[part], embedded)
        return scores

    def _score(
        self, query: TokenEmbeddings, passages: Sequence[PassageKey], embeddings: Sequence[TokenEmbeddings]
    ) -> Scores:
        return dict(zip(passages, map(float, self.measure.score_many(query, embeddings)), strict=True))

    async def _explain(
        self, explainer: Explainable, query: TokenEmbeddings, hits: Sequence[SearchHit]
    ) -> list[SearchHit]:
        """Encode the best passages again for score and links, so that the links sum to the score."""
        best = [PassageKey(hit.document.id, 0) for hit in hits]
        embedded = await self._embed({key: hit.text for key, hit in zip(best, hits, strict=True)}, "tokens")

        def explain() -> list[SearchHit]:
            links = [word_links(explainer, query, embedded[key], self.params.truncate) for key in best]
            return [hit.explained(why) for hit, why in zip(hits, links, strict=True)]

        return sorted(await asyncio.to_thread(explain), key=lambda hit: (-hit.score, hit.document.id))


def _with_text(embeddings: TokenEmbeddings, text: TokenizedText) -> TokenEmbeddings:
    if len(embeddings) != len(text):
        raise ValueError(f"token codes of {len(embeddings)} tokens for a text of {len(text)}")
    return replace(embeddings, text=text)


def _chunked(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    return [items[start : start + size] for start in range(0, len(items), size)]
