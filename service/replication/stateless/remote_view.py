"""A collection in a remote index, each of whose candidates is compared with the primary."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np
from semblance_client.vocabulary.responses import RequestWarning

from semblance.models.embeddings import Floats
from semblance.models.tokenization.terms import Term
from semblance.service.errors import CollectionReplaced, IndexUnavailable, NotWithRemoteIndex
from semblance.service.filters import Filter, matches
from semblance.service.ports.document_store import DocumentStore
from semblance.service.ports.documents import Collection, CutDocuments, PassageKey, VectorChange, Version
from semblance.service.ports.indexes import (
    NO_FIELDS,
    ROUNDING,
    Changes,
    Counted,
    DocumentSelection,
    FacetQuery,
    Hit,
    HybridHits,
    HybridQuery,
    Listed,
    PassageHit,
    TermScore,
    WordInDocument,
)
from semblance.service.ports.remote_index import MAX_CANDIDATES, RemoteCandidate, RemoteCollection, RemoteIndex

SPARE = 1.3  # times as many candidates as hits, since some may be stale
SPARE_CANDIDATES = 8  # and as many more: one is the server's own record
MORE = 4  # times as many candidates, where those found are too few
ROUNDS = 4  # of a search
QUERIES_PER_CALL = 64
_SUGGESTIONS = "suggestions"
_BY_TERMS = "searches by terms: the modes lexical, hybrid and auto"


class RemoteView:
    """`IndexReader` of one request, with exact scores of what the server finds.

    A candidate counts if the primary has its document at that very version, no later than `version`, and the filter
    matches; its scores are computed from the vectors in the primary. Methods that need all documents in memory raise
    NotWithRemoteIndex.

    Args:
        store: the primary.
        remote: the index.
        collection: as read with `version`.
        version: up to which the index has acknowledged all changes.
    """

    exact = False
    has_terms = False

    def __init__(self, store: DocumentStore, remote: RemoteIndex, collection: Collection, version: Version) -> None:
        self._store = store
        self._remote = remote
        self._collection = collection
        self._target = RemoteCollection.of(collection)
        self._version = version
        self._short = False

    @property
    def version(self) -> Version:
        """Version up to which the index has acknowledged all changes."""
        return self._version

    def search(
        self, queries: Floats, k: int, where: Filter | None, passages: int = 1, min_score: float = -math.inf
    ) -> tuple[Version, list[list[Hit]]]:
        """Find the k most similar matching documents for each of (q, d) unit queries.

        Fewer only where fewer match, or with a warning by `mismatches`.

        Raises:
            IndexUnavailable: the server does not respond.
            CollectionReplaced: the collection was recreated, or its encoder changed, since it was read.
        """
        hits: list[list[Hit]] = []
        for start in range(0, len(queries), QUERIES_PER_CALL):
            hits += self._search(queries[start : start + QUERIES_PER_CALL], k, where, passages)
        return self._version, [[hit for hit in own if hit.score >= min_score] for own in hits]

    def mismatches(self, where: Filter, named: Mapping[str, str] = NO_FIELDS) -> list[RequestWarning]:
        """A warning if a search found too few candidates; others are not known."""
        del where, named
        if not self._short:
            return []
        detail = "after several rounds, too few of the index's candidates were up to date and matched the filter"
        return [RequestWarning(pointer="", code="incomplete_search", detail=detail)]

    def vectors(self, ids: Sequence[str]) -> dict[str, Floats]:
        """Get (p, d) vectors by document id from the primary; missing ones are left out."""
        return {doc_id: state.vectors for doc_id, state in self._states(ids).items() if state.vectors is not None}

    def count(
        self, where: Filter | None, facets: Mapping[str, FacetQuery], among: Sequence[str] | None = None
    ) -> Counted:
        """Count some documents that match, in the primary; not all, and no facets."""
        if among is None or facets:
            self._refuse("counts and facets")
        found = [state for state in self._states(among).values() if where is None or matches(where, state.metadata)]
        return Counted(self._version, len(found), {}, [])

    def corrections(
        self, terms: Sequence[Term], where: Filter | None, prefix: Term | None = None
    ) -> Mapping[Term, WordInDocument]:
        """Not supported."""
        del terms, where, prefix
        self._refuse(_BY_TERMS)

    @property
    def changes(self) -> Changes:
        """None are known."""
        return Changes(0, 0)

    def unchanged(self, since: Changes, read: CutDocuments) -> list[str]:
        """None: candidates were compared with the primary."""
        del since, read
        return []

    def passages_with(self, phrases: Sequence[Sequence[str]], where: Filter | None) -> list[int]:
        """Not supported."""
        del phrases, where
        self._refuse(_BY_TERMS)

    def words_beginning(self, prefix: str, where: Filter | None, k: int) -> list[WordInDocument]:
        """Not supported."""
        del prefix, where, k
        self._refuse(_SUGGESTIONS)

    def values_beginning(self, field: str, starts: Sequence[str], where: Filter | None, k: int) -> list[str]:
        """Not supported."""
        del field, starts, where, k
        self._refuse(_SUGGESTIONS)

    def search_hybrid(self, query: HybridQuery, k: int, where: Filter | None, passages: int) -> HybridHits:
        """Not supported."""
        del query, k, where, passages
        self._refuse(_BY_TERMS)

    def select(self, selection: DocumentSelection) -> Listed:
        """Not supported."""
        del selection
        self._refuse("lists and deletions by filter, duplicates and maps")

    def terms_of(self, terms: Sequence[Term], passages: Sequence[PassageKey]) -> dict[PassageKey, Sequence[TermScore]]:
        """Not supported."""
        del terms, passages
        self._refuse("explanations by terms")

    def __len__(self) -> int:  # noqa: PLE0303 - it raises
        self._refuse("counts, duplicates and maps")

    def _refuse(self, what: str) -> NoReturn:
        raise NotWithRemoteIndex(f"not with SEMBLANCE_INDEX_URL: {what} need an index in the memory of the replica")

    def _search(self, queries: Floats, k: int, where: Filter | None, passages: int) -> list[list[Hit]]:
        hits: list[list[Hit]] = [[] for _ in queries]
        states: dict[str, VectorChange] = {}
        short, limit = list(range(len(queries))), math.ceil(SPARE * k) + SPARE_CANDIDATES
        for _ in range(ROUNDS):
            limit = min(limit, MAX_CANDIDATES)
            found = self._candidates(queries[short], limit, where)
            states |= self._states(list({each.id for own in found for each in own if each.id not in states}))
            for i, own in zip(short, found, strict=True):
                ids = {each.id for each in own if self._is_current(each, states, where)}
                hits[i] = _ordered(queries[i], [states[doc_id] for doc_id in ids], passages)
            # fewer candidates than the limit are all that the server has
            short = [i for i, own in zip(short, found, strict=True) if _may_miss(hits[i], k) and len(own) == limit]
            if not short or limit == MAX_CANDIDATES:
                break
            limit *= MORE
        self._short = self._short or any(len(hits[i]) < k for i in short)
        return [hit[:k] for hit in hits]

    def _candidates(self, queries: Floats, limit: int, where: Filter | None) -> list[list[RemoteCandidate]]:
        try:
            return self._remote.search(self._target, queries, limit, where)
        except IndexUnavailable:
            self._states([])  # the server may have deleted what a former encoder made
            raise

    def _is_current(self, candidate: RemoteCandidate, states: Mapping[str, VectorChange], where: Filter | None) -> bool:
        """Whether the primary has the document as the index does, and it matches."""
        state = states.get(candidate.id)
        if state is None or state.version != candidate.version or state.version > self._version.number:
            return False
        return where is None or matches(where, state.metadata)

    def _states(self, ids: Sequence[str]) -> dict[str, VectorChange]:
        """Documents as the primary has them. Raises CollectionReplaced."""
        own = self._collection
        now, states = self._store.vector_states(own.name, ids, own.settings.generation)
        if (now.version.epoch, now.settings.generation) != (own.version.epoch, own.settings.generation):
            raise CollectionReplaced
        return states


def _ordered(query: Floats, documents: Sequence[VectorChange], passages: int) -> list[Hit]:
    """Documents by their similarity to a query, equals by id, each with its best passages."""
    hits = [_hit(query, document, passages) for document in documents]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))


def _may_miss(hits: Sequence[Hit], k: int) -> bool:
    """Whether there are fewer than k, or all that follow the k-th tie with it, as others may."""
    return len(hits) < k or hits[-1].score >= hits[k - 1].score - ROUNDING


def _hit(query: Floats, document: VectorChange, passages: int) -> Hit:
    """A document with the scores of its passages, which do not depend on other documents."""
    assert document.vectors is not None
    products = np.einsum("ij,j->i", document.vectors.astype(np.float64), query.astype(np.float64))
    scores = np.clip(products, -1.0, 1.0).tolist()
    best = sorted(range(len(scores)), key=lambda number: (-scores[number], number))[:passages]
    return Hit(document.id, scores[best[0]], [PassageHit(number, scores[number]) for number in best])
