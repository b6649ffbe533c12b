"""Which documents are most like this text?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from semblance.models.catalogue import wanted
from semblance.models.embeddings import TokenEmbeddings, Want, unit_rows
from semblance.models.explanation import LinkList
from semblance.models.measures.chunks import portions
from semblance.models.measures.quantized_tokens import decode_many
from semblance.models.protocols import Encoder, Explainable, Similarity
from semblance.models.text import Truncate
from semblance.service.errors import CollectionReplaced, InvalidRequest, Problem, WriteConflict
from semblance.service.filters import Filter
from semblance.service.observability.timings import timed
from semblance.service.ports.documents import Collection, Document, DocumentStore, Version
from semblance.service.ports.indexes import Hit, VectorIndex
from semblance.service.replication.access import HeldCollections
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.embed_texts import Given, TextEmbedder
from semblance.service.usecases.measures import explainable, measure, word_links

Source: TypeAlias = Literal["index", "token_codes", "encoder"]

INDEX_MEASURE = "cosine"  # what the index itself ranks by
CHUNK = 32  # candidates that are scored at a time: their tokens are 25 MB where each has 512 of 384 numbers
AT_ONCE = 2  # such chunks of a request at a time; other requests get the threads that are left
DECODED = 1 << 19  # bytes of codes decoded at a time: small enough for the cache, and for the next to take its memory
ATTEMPTS = 5  # how often a search is done again because its hits were rewritten meanwhile


@dataclass(frozen=True, slots=True)
class SearchFor:
    """What is looked for. `candidates` are taken by vector and then scored by the measure, where that is another."""

    queries: Sequence[Given]
    collection: str
    k: int
    candidates: int
    measure: str | None
    truncate: Truncate = "END"
    min_score: float | None = None
    where: Filter | None = None
    explain: bool = False
    min_version: Version | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A document, how alike it is and, where asked for, why."""

    document: Document
    score: float
    links: LinkList | None = None


@dataclass(frozen=True, slots=True)
class SearchResults:
    """Hits of each query, best first. `scored_from` says which vectors of the documents made the scores."""

    encoder: Encoder
    measure: str
    version: Version
    scored_from: Source
    truncated: Sequence[bool]
    hits: Sequence[Sequence[Found]]
    tokens: int


@dataclass(frozen=True, slots=True)
class _At:
    """Where a search takes place, and by what."""

    collection: Collection
    index: VectorIndex
    encoder: Encoder
    similarity: Similarity


@dataclass(frozen=True, slots=True)
class _Seen:
    """Hits of each query in an index of `version`; the store's documents of those ids, and the collection, as of then.

    `source` says what made the scores.
    """

    version: Version
    hits: Sequence[Sequence[Hit]]
    source: Source
    now: Collection
    documents: Mapping[str, Document]


class Search:
    """Finds by vector in the index; scores the nearest anew where the measure is not the index's own."""

    def __init__(self, collections: Collections, local: HeldCollections, texts: TextEmbedder, max_scores: int) -> None:
        self._collections = collections
        self._local = local
        self._texts = texts
        self._max_scores = max_scores  # queries times candidates of one request

    async def __call__(self, request: SearchFor) -> SearchResults:
        """Hits of each query.

        Raises:
            UnknownCollection, UnknownMeasure, NotExplainable, SpaceMismatch, VersionMismatch, VersionNotReached,
            InvalidRequest, WriteConflict: see semblance.service.errors.
        """
        for _ in range(ATTEMPTS):
            try:
                return await self._in_one_life(request)
            except CollectionReplaced:  # the queries are in the cache: another attempt costs little
                await self._local.follow(request.collection)  # behind whoever is about to replace it
        raise WriteConflict(f"collection {request.collection!r} was made anew again and again: try again")

    async def _in_one_life(self, request: SearchFor) -> SearchResults:
        """Hits of each query. Raises CollectionReplaced: the collection was made anew meanwhile."""
        collection, index = await self._local.current(request.collection, request.min_version)
        similarity = measure(request.measure or collection.settings.measure)
        explainer = explainable(similarity.name) if request.explain else None
        encoder = await self._collections.encoder_of(collection)
        want: Want = "tokens" if explainer else wanted(similarity)
        queries = await self._texts.embed(encoder, request.queries, "query", want, request.truncate)
        at = _At(collection, index, encoder, similarity)
        version, source, found = await self._search(at, request, queries.embeddings)
        if explainer:
            source = "encoder"
            found = [
                await self._explained(at, explainer, *pair) for pair in zip(queries.embeddings, found, strict=True)
            ]
        least = -np.inf if request.min_score is None else request.min_score
        return SearchResults(
            encoder=encoder,
            measure=similarity.name,
            version=version,
            scored_from=source,
            truncated=queries.truncated,
            hits=[[hit for hit in each if hit.score >= least] for each in found],
            tokens=queries.tokens,
        )

    async def _search(
        self, at: _At, request: SearchFor, queries: Sequence[TokenEmbeddings]
    ) -> tuple[Version, Source, list[list[Found]]]:
        """The k nearest with their documents, all of one version: done again if a hit was rewritten in between.

        Raises:
            CollectionReplaced: the collection was made anew meanwhile, so that not even the encoder need be the same.
        """
        for attempt in range(1, ATTEMPTS + 1):
            seen = await self._looked(at, request, queries)
            if not seen.now.version.epoch == seen.version.epoch == at.collection.version.epoch:
                raise CollectionReplaced
            if seen.now.settings.space != at.collection.settings.space:  # rolled over: its token codes are others
                raise CollectionReplaced
            same = {doc_id: each for doc_id, each in seen.documents.items() if each.version <= seen.version.number}
            if len(same) == len(_ids(seen.hits)) or attempt == ATTEMPTS:
                break
            at = await self._followed(at)
        found = [[Found(same[hit.id], hit.score) for hit in each if hit.id in same] for each in seen.hits]
        return seen.version, seen.source, found

    async def _followed(self, at: _At) -> _At:
        """The same with the index brought up to the store. Raises CollectionReplaced: it is another one by now."""
        await self._local.follow(at.collection.name)
        now, index = await self._local.current(at.collection.name, None)
        same = now.version.epoch == at.collection.version.epoch and now.settings.space == at.collection.settings.space
        if not same:
            raise CollectionReplaced
        return replace(at, index=index)

    async def _looked(self, at: _At, request: SearchFor, queries: Sequence[TokenEmbeddings]) -> _Seen:
        """The k nearest documents of each query, best first by the measure."""
        own = at.similarity.name == INDEX_MEASURE
        if not own:
            self._require_few(len(queries) * request.candidates)
        name = at.collection.name
        directions = unit_rows(np.stack([query.pooled() for query in queries])).astype(np.float32)
        near = partial(at.index.search, directions, request.k if own else request.candidates, request.where)
        if own:
            with timed("search"):  # one way to a thread and back, which takes longer than either
                return await self._local.search(lambda store: _seen_by_index(store, name, near))
        with timed("search"):
            version, candidates = await self._local.search(lambda _: near())
        rescored = [await self._rescored(at, query, hits) for query, hits in zip(queries, candidates, strict=True)]
        hits = [each[: request.k] for each in rescored]
        return _Seen(version, hits, _source(at), *await self._documents(name, _ids(hits)))

    async def _rescored(self, at: _At, query: TokenEmbeddings, hits: Sequence[Hit]) -> list[Hit]:
        """Those hits that still exist, scored and ordered by the measure."""
        rescored: list[Hit] = []
        chunks = [[hit.id for hit in hits[start : start + CHUNK]] for start in range(0, len(hits), CHUNK)]
        for start in range(0, len(chunks), AT_ONCE):
            scoring = [await self._scoring(at, query, ids) for ids in chunks[start : start + AT_ONCE]]
            with timed("search"):
                scored = await asyncio.gather(*(self._local.search(each) for each in scoring))
            rescored += [hit for each in scored for hit in each]
        return sorted(rescored, key=lambda hit: (-hit.score, hit.id))

    async def _scoring(
        self, at: _At, query: TokenEmbeddings, ids: Sequence[str]
    ) -> Callable[[DocumentStore], list[Hit]]:
        """What scores those of the documents that still exist, from the cheapest place that has their tokens."""
        if _source(at) == "token_codes":
            return partial(_score_codes, at, query, ids)
        _, documents = await self._documents(at.collection.name, ids)
        known = await self._encoded(at.encoder, list(documents.values()), wanted(at.similarity))
        return lambda _: _score(at.similarity, query, list(known), list(known.values()))

    def _require_few(self, scores: int) -> None:
        if scores > self._max_scores:
            detail = f"{scores:,} scores, queries times candidates; at most {self._max_scores:,} are computed"
            raise InvalidRequest([Problem("/candidates", "out_of_range", detail)])

    async def _documents(self, name: str, ids: Sequence[str]) -> tuple[Collection, dict[str, Document]]:
        return await self._local.read(lambda store: store.get_at(name, ids))

    async def _encoded(self, encoder: Encoder, documents: Sequence[Document], want: Want) -> dict[str, TokenEmbeddings]:
        given = [Given(document.text, f"/documents/{document.id}") for document in documents]
        encoded = await self._texts.embed(encoder, given, "document", want)
        return {document.id: each for document, each in zip(documents, encoded.embeddings, strict=True)}

    async def _explained(
        self, at: _At, explainer: Explainable, query: TokenEmbeddings, found: Sequence[Found]
    ) -> list[Found]:
        """The same hits with score and links from freshly encoded texts, so that the one sums to the other."""
        encoded = await self._encoded(at.encoder, [hit.document for hit in found], "tokens")

        def explain() -> list[Found]:
            links = [word_links(explainer, query, encoded[hit.document.id]) for hit in found]
            return [Found(hit.document, why.score, why) for hit, why in zip(found, links, strict=True)]

        return sorted(await asyncio.to_thread(explain), key=lambda hit: (-hit.score, hit.document.id))


def _seen_by_index(
    store: DocumentStore, name: str, near: Callable[[], tuple[Version, Sequence[Sequence[Hit]]]]
) -> _Seen:
    version, hits = near()
    return _Seen(version, hits, "index", *store.get_at(name, _ids(hits)))


def _ids(hits: Sequence[Sequence[Hit]]) -> list[str]:
    return list({hit.id for each in hits for hit in each})


def _source(at: _At) -> Literal["token_codes", "encoder"]:
    """Where the measure's view of a document comes from, if the index's own scores are not enough.

    Never from the index: it keeps directions, and a measure may ask for the length of a pooled vector.
    """
    coded = at.similarity.needs == "tokens" and at.collection.settings.tokens == "int8"
    return "token_codes" if coded else "encoder"


def _score_codes(at: _At, query: TokenEmbeddings, ids: Sequence[str], store: DocumentStore) -> list[Hit]:
    codes = store.codes(at.collection.name, ids, at.collection.settings.space)
    known, each = list(codes), list(codes.values())
    return [
        hit
        for portion in portions([len(some) for some in each], DECODED)
        for hit in _score(at.similarity, query, known[portion], decode_many(each[portion]))
    ]


def _score(
    similarity: Similarity, query: TokenEmbeddings, ids: Sequence[str], candidates: Sequence[TokenEmbeddings]
) -> list[Hit]:
    scores = similarity.score_many(query, candidates)
    return [Hit(doc_id, float(score)) for doc_id, score in zip(ids, scores, strict=True)]
