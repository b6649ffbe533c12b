"""Candidates of each query, from the index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from semblance.models.embeddings import TokenEmbeddings, unit_rows
from semblance.service.filters import EVERYTHING
from semblance.service.ports.indexes import HybridHits, HybridQuery, IndexReader
from semblance.service.threads import until_left
from semblance.service.usecases.search.hits import IndexHits, by_vector
from semblance.service.usecases.search.ordering import LEAST_SHARES
from semblance.service.usecases.search.params import SearchParams


def candidates(
    index: IndexReader, params: SearchParams, queries: Sequence[TokenEmbeddings], sizes: Sequence[int], passages: int
) -> IndexHits:
    """The candidates of each query, without the document that takes its place.

    A search for more fuses the lists into another order: its candidates come behind those of the searches before.

    Args:
        index: to search.
        params: of the search.
        queries: the queries, encoded.
        sizes: numbers of documents, fewest first.
        passages: of a document.
    """
    first, *more = [_without_like(index, params, queries, k, passages) for k in sizes]
    found = list(first.found)
    for k, larger in zip(sizes[1:], more, strict=True):
        found = [_with(*each, k) for each in zip(found, larger.found, strict=True)]
    return replace(first, found=found)


def _with(known: HybridHits, larger: HybridHits, k: int) -> HybridHits:
    """Candidates, and up to k of those of a search for more."""
    ids = {hit.id for hit in known.hits}
    return replace(known, hits=[*known.hits, *(hit for hit in larger.hits if hit.id not in ids)][:k])


def _without_like(
    index: IndexReader, params: SearchParams, queries: Sequence[TokenEmbeddings], k: int, passages: int
) -> IndexHits:
    """The k candidates of each query, without the document that takes its place."""
    if (like := params.request.like) is None:
        return _found(index, params, queries, k, passages)
    found = _found(index, params, queries, k + 1, passages)
    others = [replace(each, hits=[hit for hit in each.hits if hit.id != like][:k]) for each in found.found]
    return replace(found, found=others)


def _found(
    index: IndexReader, params: SearchParams, queries: Sequence[TokenEmbeddings], k: int, passages: int
) -> IndexHits:
    where, mode, changes = params.where, params.mode, index.changes
    directions = unit_rows(np.stack([query.pooled() for query in queries])).astype(np.float32)
    if mode == "vector":
        version, hits = index.search(directions, k, where, passages)
        return IndexHits(
            [by_vector(version, own) for own in hits],
            index.mismatches(where or EVERYTHING, params.named_fields),
            changes,
        )
    found = [
        index.search_hybrid(
            HybridQuery(
                vector,
                params.glossary.query_terms(text.text),
                terms_only=mode == "lexical",
                min_share=LEAST_SHARES.get(mode, 0.0),
                text=text.text,
            ),
            k,
            where,
            passages,
        )
        for vector, text in until_left(zip(directions, params.queries, strict=True))
    ]
    return IndexHits(found, index.mismatches(where or EVERYTHING, params.named_fields), changes)
