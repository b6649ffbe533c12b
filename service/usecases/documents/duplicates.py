"""Find groups of near-duplicates in a collection, with the words that join them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from semblance.models.catalogue import explainable, required_vectors, similarity
from semblance.models.embeddings import TokenEmbeddings
from semblance.models.protocols import Encoder, Explainable, Similarity
from semblance.service.errors import CollectionReplaced, WriteConflict
from semblance.service.filters import Filter
from semblance.service.ports.documents import CutDocuments, PassageKey, Version
from semblance.service.ports.indexes import ROUNDING, DocumentSelection, VectorIndex
from semblance.service.replication.access import CollectionAccess
from semblance.service.request_warnings import RequestWarning
from semblance.service.turns import in_thread
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.documents.clusters import Clusters, Member, Neighbor
from semblance.service.usecases.documents.neighbors import (
    document_score,
    nearest_documents,
)
from semblance.service.usecases.embed import TextEmbedder
from semblance.service.usecases.explain.explain import DEFAULT_MEASURE
from semblance.service.usecases.explain.word_links import WordLinks, word_links
from semblance.service.usecases.search.rescoring import INDEX_MEASURE, PassageScorer

ATTEMPTS = 5  # of a search whose collection is replaced
NEAREST, RESCORED = 100, 16  # neighbors looked up per document, by cosine and by another measure
MOST = 1000  # if all of these pass the threshold


@dataclass(frozen=True, slots=True)
class DuplicateParams:
    """Which duplicates to find.

    Attributes:
        collection: where.
        threshold: least score of two documents.
        measure: None is the collection's own.
        where: only among the documents that match.
        explain: whether to explain each pair.
        after: groups whose first id is not above this one are left out, as those listed before.
        limit: most documents to check; None checks all.
        min_version: search this version of the collection or a later one.
    """

    collection: str
    threshold: float
    measure: str | None = None
    where: Filter | None = None
    explain: bool = False
    after: str = ""
    limit: int | None = None
    min_version: Version | None = None


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A document of a group.

    Attributes:
        id: its id.
        text: its passage that is most similar to one of `like`.
        like: the earlier document that led to it; None for the first.
        score: that of the two.
        why: the words that make it, if explained.
    """

    id: str
    text: str
    like: str | None
    score: float | None
    why: WordLinks | None


@dataclass(frozen=True, slots=True)
class DuplicateBatch:
    """Groups whose first documents are among those checked so far; `after` is the last of these."""

    groups: Sequence[Sequence[Duplicate]]
    checked: int
    after: str


class FindDuplicates:
    """Finds duplicates by the index; rescores them if the measure is not the index's own."""

    def __init__(self, collections: Collections, access: CollectionAccess, texts: TextEmbedder) -> None:
        self._collections = collections
        self._access = access
        self._texts = texts

    async def open(self, params: DuplicateParams) -> DuplicateSearch:
        """Begin a search.

        Raises:
            UnknownCollection, UnknownMeasure, NotExplainable, SpaceMismatch, VersionMismatch, VersionNotReached: see
                the errors of models and service.
        """
        collection, index = await self._access.current(params.collection, params.min_version)
        measure = similarity(params.measure or collection.settings.measure)
        encoder = await self._collections.encoder_of(collection)
        explainer = explainable(params.measure or DEFAULT_MEASURE) if params.explain else None
        limit = params.limit or len(index)
        # one more tells whether any are left
        selection = DocumentSelection(params.where, limit + 1, after=params.after)
        found = await self._access.search(lambda _: index.select(selection))
        scorer = PassageScorer(self._access, self._texts, collection, encoder, measure)
        return DuplicateSearch(
            params, found.ids[:limit], len(found.ids) > limit, found.warnings, scorer, index, explainer
        )

    async def all_groups(self, params: DuplicateParams) -> tuple[DuplicateSearch, list[Sequence[Duplicate]]]:
        """A search and all its groups; it begins again if the collection is replaced meanwhile.

        Raises:
            WriteConflict: the collection was replaced during every attempt; and what `open` raises.
        """
        for _ in range(ATTEMPTS):
            search = await self.open(params)
            try:
                return search, [group async for batch in search.batches() for group in batch.groups]
            except CollectionReplaced:
                await self._access.refresh_index(params.collection)
        raise WriteConflict(f"collection {params.collection!r} was recreated during the search; retry")

    async def similar(
        self, name: str, version: Version, ids: Sequence[str], threshold: float, most: int
    ) -> dict[str, list[Neighbor]]:
        """Up to `most` documents as similar as the threshold to each of some others, by cosine.

        Raises:
            UnknownCollection, VersionMismatch, VersionNotReached: the version has not arrived here, or is gone.
        """
        _, index = await self._access.current(name, version)
        near = await self._access.search(lambda _: nearest_documents(index, ids, most, None))
        return {doc_id: _at_least(threshold, each)[:most] for doc_id, each in near.items()}


@dataclass(frozen=True, slots=True)
class DuplicateSearch:
    """One search: documents in order of their ids, whether `more` follow, and what scores them."""

    params: DuplicateParams
    ids: Sequence[str]
    more: bool
    warnings: Sequence[RequestWarning]
    scorer: PassageScorer
    index: VectorIndex
    explainer: Explainable | None

    @property
    def encoder(self) -> Encoder:
        """The encoder of the collection."""
        return self.scorer.encoder

    @property
    def explained_by(self) -> str:
        """Name of the measure of the explanations; empty without any."""
        return (self.params.measure or DEFAULT_MEASURE) if self.explainer else ""

    @property
    def measure(self) -> Similarity:
        """The measure of the scores."""
        return self.scorer.measure

    async def batches(self) -> AsyncIterator[DuplicateBatch]:
        """Groups of duplicates, each once, as they are found.

        Raises:
            CollectionReplaced: the collection was recreated, or its encoder changed, meanwhile.
        """
        async for batch in Clusters(self._neighbors, self.params.after).of(self.ids):
            groups = [await self._shown(group) for group in batch.groups]
            yield DuplicateBatch([each for each in groups if len(each) > 1], batch.checked, batch.last)

    async def _neighbors(self, ids: Sequence[str]) -> dict[str, list[Neighbor]]:
        first = NEAREST if self.measure.name == INDEX_MEASURE else RESCORED
        near = await self._near(ids, first)
        full = [doc_id for doc_id, each in near.items() if len(each) >= first]
        return near | (await self._near(full, MOST) if full else {})

    async def _near(self, ids: Sequence[str], k: int) -> dict[str, list[Neighbor]]:
        """Up to k documents or so that are as similar as the threshold to each of some documents."""
        near = await self.scorer.access.search(lambda _: nearest_documents(self.index, ids, k, self.params.where))
        if self.measure.name != INDEX_MEASURE:
            near = {doc_id: await self._rescored(doc_id, each) for doc_id, each in near.items()}
        return {doc_id: _at_least(self.params.threshold, each) for doc_id, each in near.items()}

    async def _rescored(self, doc_id: str, near: Sequence[Neighbor]) -> list[Neighbor]:
        """The same neighbors, with scores by the measure."""
        read = await self._documents([doc_id, *(each.id for each in near)])
        own = await self._embedded(read, _passages(read, doc_id), explained=False)
        others = [each.id for each in near if each.id in read.documents]
        keys = {other: _passages(read, other) for other in others}
        flat = [key for each in keys.values() for key in each]
        scores = [await self.scorer.scores(each, flat) for each in own]
        found = []
        for other, passages in keys.items():
            table = np.array([[row[key] for key in passages if key in row] for row in scores], np.float32)
            if table.size:
                found.append(Neighbor(other, document_score(table)))
        return found

    async def _documents(self, ids: Sequence[str]) -> CutDocuments:
        """Read documents of the collection as it was opened. Raises CollectionReplaced."""
        read = await self.scorer.documents(ids)
        now, own = read.collection, self.scorer.collection
        if (now.version.epoch, now.settings.generation) != (own.version.epoch, own.settings.generation):
            raise CollectionReplaced
        return read

    async def _embedded(
        self, read: CutDocuments, passages: Sequence[PassageKey], *, explained: bool
    ) -> list[TokenEmbeddings]:
        want = "tokens" if explained else required_vectors(self.measure)
        return list((await self.scorer.embed(read.texts(passages), want)).values())

    async def _shown(self, group: Sequence[Member]) -> list[Duplicate]:
        """A group with its texts and explanations; documents that are gone by now are left out."""
        read = await self._documents([each.id for each in group])
        vectors = await self.scorer.access.search(lambda _: self.index.vectors([each.id for each in group]))
        shown = []
        for member in group:
            if member.id not in read.documents or member.id not in vectors:
                continue
            mine, other = PassageKey(member.id, 0), None
            if member.like in vectors and member.like in read.documents:
                table = vectors[member.like] @ vectors[member.id].T
                best = np.unravel_index(int(np.argmax(table)), table.shape)
                other, mine = PassageKey(member.like, int(best[0])), PassageKey(member.id, int(best[1]))
            text = read.texts([mine]).get(mine, "")
            why = None if other is None else await self._why(read, other, mine)
            shown.append(Duplicate(member.id, text, member.like, member.score, why))
        return shown

    async def _why(self, read: CutDocuments, a: PassageKey, b: PassageKey) -> WordLinks | None:
        """The words that make the score of two passages."""
        if self.explainer is None or len(read.texts([a, b])) < 2:
            return None
        left, right = await self._embedded(read, [a, b], explained=True)
        return await in_thread(partial(word_links, self.explainer, left, right, "END"))


def _at_least(threshold: float, near: Sequence[Neighbor]) -> list[Neighbor]:
    return [each for each in near if each.score >= threshold - ROUNDING]


def _passages(read: CutDocuments, doc_id: str) -> list[PassageKey]:
    """The passages of a document; none if it is gone."""
    if doc_id not in read.documents:
        return []
    count = len(read.spans[doc_id]) if doc_id in read.spans else 1
    return [PassageKey(doc_id, number) for number in range(count)]
