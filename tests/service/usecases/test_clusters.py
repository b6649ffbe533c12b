"""Groups of near-duplicates against a plain loop, on random graphs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.embeddings import unit_rows
from semblance.service.ports.documents import VectorChange
from semblance.service.usecases.documents.clusters import (
    MAX_MEMBERS,
    ClusterBatch,
    Clusters,
    Member,
    Neighbor,
    document_score,
    nearest_documents,
)
from tests.support.stored_index import StoredIndex

COUNT = 150  # more than two batches
IDS = [f"{i:03}" for i in range(COUNT)]
EDGES = st.sets(st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT - 1)), max_size=160)


def batches_of(edges: set[tuple[int, int]], requested: list[str], after: str = "") -> list[ClusterBatch]:
    near: dict[str, list[Neighbor]] = {each: [] for each in IDS}
    for i, j in sorted(edges | {(j, i) for i, j in edges}):
        if i != j:
            near[IDS[i]].append(Neighbor(IDS[j], 1.0))

    async def find(ids: Sequence[str]) -> dict[str, list[Neighbor]]:
        requested.extend(ids)
        return {each: near[each] for each in ids}

    async def run() -> list[ClusterBatch]:
        return [each async for each in Clusters(find, after).of([each for each in IDS if each > after])]

    return asyncio.run(run())


def groups_of(batches: Sequence[ClusterBatch]) -> list[list[Member]]:
    return [list(group) for batch in batches for group in batch.groups]


def plain_groups(edges: set[tuple[int, int]]) -> list[list[str]]:
    linked = edges | {(j, i) for i, j in edges}
    left = list(range(COUNT))
    groups = []
    while left:
        first = left[0]
        group = [first, *(each for each in left if each != first and (first, each) in linked)]
        left = [each for each in left if each not in group]
        groups.append([IDS[each] for each in group])
    return groups


@given(edges=EDGES)
def test_each_member_is_a_neighbor_of_the_first(edges: set[tuple[int, int]]) -> None:
    """No document is looked up twice."""
    requested: list[str] = []
    batches = batches_of(edges, requested)
    groups = groups_of(batches)
    assert [sorted(member.id for member in group) for group in groups] == [
        each for each in plain_groups(edges) if len(each) > 1
    ]
    assert len(requested) == len(set(requested))
    assert [(batch.checked, batch.last) for batch in batches] == [(64, "063"), (128, "127"), (150, "149")]
    for first, *others in groups:
        assert (first.like, first.score) == (None, None)
        assert {each.like for each in others} == {first.id}


@given(edges=EDGES, place=st.integers(0, 2))
def test_a_resumed_search_lists_the_other_groups(edges: set[tuple[int, int]], place: int) -> None:
    whole = batches_of(edges, [])
    resumed = batches_of(edges, [], after=whole[place].last)
    listed = {group[0].id for group in groups_of(whole[: place + 1])}
    listed_later = [{member.id for member in group} for group in groups_of(resumed)]
    assert listed_later == [{member.id for member in group} for group in groups_of(whole) if group[0].id not in listed]


def test_members_of_groups_listed_before_are_not_looked_up() -> None:
    requested: list[str] = []
    assert not groups_of(batches_of({(0, each) for each in range(1, COUNT)}, requested, after="063"))
    assert requested == [*IDS[64:128], IDS[0]], "the neighbors of the first one are its group"


@pytest.mark.parametrize("threshold", [-0.5, 0.2, 0.6])
def test_neighbors_score_at_least_the_threshold_by_all_passages(threshold: float) -> None:
    rng = np.random.default_rng(0)
    vectors = {each: unit_rows(rng.normal(size=(1 + int(each) % 3, 4))).astype(np.float32) for each in IDS[:40]}
    index = StoredIndex("exact", 4)
    index.apply([VectorChange(doc_id, 1, own, {}) for doc_id, own in vectors.items()])
    for doc_id, near in nearest_documents(index, list(vectors), 40, None, threshold).items():
        scores = {other: document_score(vectors[doc_id] @ own.T) for other, own in vectors.items() if other != doc_id}
        assert {each.id for each in near} == {other for other, score in scores.items() if score >= threshold}
        assert [each.score for each in near] == pytest.approx(
            sorted((score for score in scores.values() if score >= threshold), reverse=True), abs=1e-6
        )


def test_a_very_large_group_is_listed_in_parts() -> None:
    ids = [f"{i:04}" for i in range(2 * MAX_MEMBERS + 300)]
    near = [Neighbor(each, 1.0) for each in ids]

    async def find(wanted: Sequence[str]) -> dict[str, list[Neighbor]]:
        return {each: [other for other in near if other.id != each] for each in wanted}

    async def run() -> list[ClusterBatch]:
        return [each async for each in Clusters(find).of(ids)]

    groups = groups_of(asyncio.run(run()))
    assert [len(group) for group in groups] == [MAX_MEMBERS, MAX_MEMBERS, 300]
    assert sorted(member.id for group in groups for member in group) == ids


def test_a_document_is_no_duplicate_of_one_that_contains_it() -> None:
    rng = np.random.default_rng(0)
    vectors = unit_rows(rng.normal(size=(6, 16))).astype(np.float32)
    part, whole = vectors[:2], vectors
    assert document_score(part @ part.T) > 0.999
    assert document_score(part @ whole.T) < 0.9
    assert document_score(part @ whole.T) == document_score(whole @ part.T)
    assert document_score(vectors[:1] @ vectors[1:2].T) == float(vectors[0] @ vectors[1])
