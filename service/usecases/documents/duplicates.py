"""Find groups of near-duplicates in a collection, with the words that join them."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from typing import Any

import numpy as np
from semblance_client.vocabulary.duplicates import (
    Duplicate,
    DuplicateGroup,
    DuplicatesPage,
    DuplicatesRequest,
    FoundDuplicates,
)
from semblance_client.vocabulary.explanation import Explanation
from semblance_client.vocabulary.responses import RequestWarning

from semblance.models.catalogue import explainable, required_vectors, similarity
from semblance.models.embeddings import Floats, TokenEmbeddings
from semblance.models.tokenization.function_words import say_much
from semblance.models.tokenization.terms import query_terms
from semblance.service.errors import CollectionReplaced, WriteConflict
from semblance.service.filters import Filter
from semblance.service.ports.documents import CutDocuments, PassageKey, Version
from semblance.service.ports.indexes import ROUNDING, DocumentSelection, IndexReader
from semblance.service.ports.paraphrases import Classifiers
from semblance.service.replication.access import CollectionAccess
from semblance.service.threads import until_left
from semblance.service.turns import in_thread
from semblance.service.usecases.collections import Collections
from semblance.service.usecases.cursors import Place, read_cursor, write_cursor
from semblance.service.usecases.documents.clusters import (
    Clusters,
    Member,
    Neighbor,
    document_score,
    nearest_documents,
)
from semblance.service.usecases.explain.explain import DEFAULT_MEASURE
from semblance.service.usecases.explain.word_links import word_links
from semblance.service.usecases.paraphrases.verdicts import Judge, judge_of
from semblance.service.usecases.request_fields import requested_filter, requested_version, require_at_most
from semblance.service.usecases.search.rescoring import INDEX_MEASURE, PassageScorer
from semblance.service.usecases.text_embedder import TextEmbedder

PAGE, MAX_PAGE = 1000, 10_000  # documents checked for a response in JSON
ATTEMPTS = 5  # of a search whose collection is replaced
NEAREST, RESCORED = 100, 16  # neighbors looked up per document, by cosine and by another measure
MOST = 1000  # if all of these pass the threshold
EXPLAINED = 64  # pairs whose texts are encoded together
MAX_WORDS = 20  # of a text that another lacks


class FindDuplicates:
    """Finds duplicates by the index; rescores them if the measure is not the index's own."""

    def __init__(
        self,
        collections: Collections,
        access: CollectionAccess,
        texts: TextEmbedder,
        classifiers: Classifiers,
    ) -> None:
        self._collections = collections
        self._access = access
        self._texts = texts
        self._classifiers = classifiers

    async def open(self, name: str, request: DuplicatesRequest) -> DuplicateSearch:
        """Begin a search for all groups.

        Raises:
            UnknownCollection, UnknownMeasure, NotExplainable, SpaceMismatch, VersionMismatch, VersionNotReached: see
                the errors of models and service.
        """
        where, after = requested_filter(request.filter), read_cursor(request.cursor).after
        collection, index = await self._access.current(name, requested_version(request.min_version))
        measure = similarity(request.measure or collection.settings.measure)
        encoder = await self._collections.encoder_of(collection)
        explained_by = (request.measure or DEFAULT_MEASURE) if request.explain else None
        if explained_by is not None:
            explainable(explained_by)  # raises NotExplainable before the response begins
        limit = request.limit or len(index)
        # one more tells whether any are left
        selection = DocumentSelection(where, limit + 1, after=after)
        found = await self._access.search(lambda _: index.select(selection))
        return DuplicateSearch(
            min_score=request.min_score,
            where=where,
            after=after,
            ids=found.ids[:limit],
            more=len(found.ids) > limit,
            warnings=found.warnings,
            scorer=PassageScorer(self._access, self._texts, collection, encoder, measure),
            index=index,
            explained_by=explained_by,
            judge=judge_of(self._classifiers, encoder),
        )

    async def page(self, name: str, request: DuplicatesRequest) -> DuplicatesPage:
        """A page of groups; the search begins again if the collection is replaced meanwhile.

        Raises:
            WriteConflict: the collection was replaced during every attempt; and what `open` raises.
        """
        limit = request.limit or PAGE
        require_at_most("/limit", limit, MAX_PAGE, "documents of an answer in JSON")
        for _ in range(ATTEMPTS):
            search = await self.open(name, request.model_copy(update={"limit": limit}))
            try:
                groups = [group async for batch in search.batches() for group in batch.groups]
            except CollectionReplaced:
                await self._access.refresh_index(name)
            else:
                return DuplicatesPage(groups=groups, checked=len(search.ids), **search.outcome())
        raise WriteConflict(f"collection {name!r} was recreated during the search; retry")

    async def similar(
        self, name: str, version: Version, ids: Sequence[str], threshold: float, most: int
    ) -> dict[str, list[Neighbor]]:
        """Up to `most` documents as similar as the threshold to each of some others, by cosine.

        Raises:
            UnknownCollection, VersionMismatch, VersionNotReached: the version has not arrived here, or is gone.
        """
        _, index = await self._access.current(name, version)
        near = await self._access.search(lambda _: nearest_documents(index, ids, most, None, threshold))
        return {doc_id: each[:most] for doc_id, each in near.items()}


@dataclass(frozen=True, slots=True)
class DuplicateSearch:
    """One search for groups of documents that are like the first of them.

    Attributes:
        min_score: least score of two documents.
        where: only among the documents that match.
        after: groups whose first id is not above this one are left out, as those listed before.
        ids: the documents to check, in order.
        more: whether others follow.
        warnings: of the filter.
        scorer: scores passages by the measure.
        index: of the collection.
        explained_by: name of the measure of the explanations; None without any.
        judge: of the pairs that are explained; None if the model has no classifier.
    """

    min_score: float
    where: Filter | None
    after: str
    ids: Sequence[str]
    more: bool
    warnings: Sequence[RequestWarning]
    scorer: PassageScorer
    index: IndexReader
    explained_by: str | None
    judge: Judge | None

    def outcome(self) -> dict[str, Any]:
        """Where to go on, and what compared the documents, as fields of a response."""
        return {
            "cursor": write_cursor(Place(self.ids[-1])) if self.more else None,
            "model": self.scorer.encoder.name,
            "space": self.scorer.encoder.space,
            "measure": self.scorer.measure.name,
            "warnings": self.warnings,
        }

    async def batches(self) -> AsyncIterator[FoundDuplicates]:
        """Groups of duplicates, each once, as they are found.

        Raises:
            CollectionReplaced: the collection was recreated, or its encoder changed, meanwhile.
        """
        async for batch in Clusters(self._neighbors, self.after).of(self.ids):
            groups = await self._shown(batch.groups)
            yield FoundDuplicates(groups=groups, checked=batch.checked, cursor=write_cursor(Place(batch.last)))

    async def _neighbors(self, ids: Sequence[str]) -> dict[str, list[Neighbor]]:
        first = NEAREST if self.scorer.measure.name == INDEX_MEASURE else RESCORED
        near = await self._near(ids, first)
        full = [doc_id for doc_id, each in near.items() if len(each) >= first]
        return near | (await self._near(full, MOST) if full else {})

    async def _near(self, ids: Sequence[str], k: int) -> dict[str, list[Neighbor]]:
        """Up to k documents or so that are as similar as the threshold to each of some documents."""
        rescored = self.scorer.measure.name != INDEX_MEASURE
        min_score = -math.inf if rescored else self.min_score
        near = await self.scorer.access.search(lambda _: nearest_documents(self.index, ids, k, self.where, min_score))
        return {doc_id: await self._rescored(doc_id, each) for doc_id, each in near.items()} if rescored else near

    async def _rescored(self, doc_id: str, near: Sequence[Neighbor]) -> list[Neighbor]:
        """The neighbors that are as similar as the threshold by the measure."""
        read = await self._documents([doc_id, *(each.id for each in near)])
        own = await self._embedded(read, _passages(read, doc_id))
        others = [each.id for each in near if each.id in read.documents]
        keys = {other: _passages(read, other) for other in others}
        flat = [key for each in keys.values() for key in each]
        scores = [await self.scorer.scores(each, flat) for each in own]
        found = []
        for other, passages in keys.items():
            table = np.array([[row[key] for key in passages if key in row] for row in scores], np.float32)
            if table.size and (score := document_score(table)) >= self.min_score - ROUNDING:
                found.append(Neighbor(other, score))
        return found

    async def _documents(self, ids: Sequence[str]) -> CutDocuments:
        """Read documents of the collection as it was opened. Raises CollectionReplaced."""
        read = await self.scorer.documents(ids)
        now, own = read.collection, self.scorer.collection
        if (now.version.epoch, now.settings.generation) != (own.version.epoch, own.settings.generation):
            raise CollectionReplaced
        return read

    async def _embedded(self, read: CutDocuments, passages: Sequence[PassageKey]) -> list[TokenEmbeddings]:
        return list((await self.scorer.embed(read.texts(passages), required_vectors(self.scorer.measure))).values())

    async def _shown(self, groups: Sequence[Sequence[Member]]) -> list[DuplicateGroup]:
        """Groups with their texts and explanations; documents that are gone by now are left out."""
        ids = [each.id for group in groups for each in group]
        if not ids:
            return []
        read = await self._documents(ids)
        vectors = await self.scorer.access.search(lambda _: self.index.vectors(ids))
        known = [[each for each in group if each.id in read.documents and each.id in vectors] for group in groups]
        pairs = {
            each.id: _nearest_passages(each.like, each.id, vectors)
            for group in known
            for each in group
            if each.like is not None and each.like == group[0].id
        }
        shown = {each.id: pairs[each.id][1] if each.id in pairs else PassageKey(each.id, 0) for each in chain(*known)}
        texts = read.texts([*shown.values(), *(there for there, _ in pairs.values())])
        explanations = await self._explanations(texts, pairs)
        words = cache(_words)

        def duplicate(member: Member) -> Duplicate:
            text = texts.get(shown[member.id], "")
            other = texts.get(pairs[member.id][0], "") if member.id in pairs else None
            compared = {} if other is None else _compared(words(text), words(other))
            why = explanations.get(member.id)
            metadata = dict(read.documents[member.id].metadata)
            return Duplicate(**member._asdict(), text=text, metadata=metadata, explanation=why, **compared)

        def documents() -> list[list[Duplicate]]:
            return [[duplicate(each) for each in until_left(group)] for group in known if len(group) > 1]

        return [DuplicateGroup(documents=each) for each in await in_thread(documents)]

    async def _explanations(
        self, texts: Mapping[PassageKey, str], pairs: Mapping[str, tuple[PassageKey, PassageKey]]
    ) -> dict[str, Explanation]:
        """The words behind the score of each pair of passages, by document, if requested."""
        explanations: dict[str, Explanation] = {}
        if self.explained_by is not None:
            for start in range(0, len(pairs), EXPLAINED):
                part = dict(islice(pairs.items(), start, start + EXPLAINED))
                explanations |= await self._explained(self.explained_by, texts, part)
        return explanations

    async def _explained(
        self, measure: str, texts: Mapping[PassageKey, str], pairs: Mapping[str, tuple[PassageKey, PassageKey]]
    ) -> dict[str, Explanation]:
        keys = {key: texts[key] for pair in pairs.values() for key in pair if key in texts}
        embedded = await self.scorer.embed(keys, "tokens")
        explainer = explainable(measure)

        def explain() -> dict[str, Explanation]:
            return {
                doc_id: word_links(explainer, measure, embedded[a], embedded[b], judge=self.judge)
                for doc_id, (a, b) in until_left(pairs.items())
                if a in embedded and b in embedded
            }

        return await in_thread(explain)


def _nearest_passages(like: str, doc_id: str, vectors: Mapping[str, Floats]) -> tuple[PassageKey, PassageKey]:
    """The passages of two documents that are most similar."""
    table = vectors[like] @ vectors[doc_id].T
    a, b = np.unravel_index(int(np.argmax(table)), table.shape)
    return PassageKey(like, int(a)), PassageKey(doc_id, int(b))


def _compared(own: Mapping[str, str], others: Mapping[str, str]) -> dict[str, list[str]]:
    """Words and codes that two texts have both, or one only, as fields of a response."""
    return {
        "in_both": [own[term] for term in own if term in others][:MAX_WORDS],
        "only_here": [own[term] for term in own if term not in others][:MAX_WORDS],
        "only_there": [others[term] for term in others if term not in own][:MAX_WORDS],
    }


def _words(text: str) -> dict[str, str]:
    """Words and codes of a text by term, in its order, without function words."""
    terms = [term for term in query_terms(text) if term.kind in ("word", "code")]
    words = [text[term.start : term.end] for term in terms]
    return {term.text: word for term, word, says in zip(terms, words, say_much(words), strict=True) if says}


def _passages(read: CutDocuments, doc_id: str) -> list[PassageKey]:
    """The passages of a document; none if it is gone."""
    if doc_id not in read.documents:
        return []
    count = len(read.spans[doc_id]) if doc_id in read.spans else 1
    return [PassageKey(doc_id, number) for number in range(count)]
