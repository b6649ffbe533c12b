"""Clusters of near-duplicates against connected components, on random graphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from semblance.service.cli.duplicates import Clusters, Member, Neighbor

EDGES = st.sets(st.tuples(st.integers(0, 39), st.integers(0, 39)), max_size=60)


def clusters(edges: set[tuple[int, int]], requested: list[str]) -> Clusters:
    def find(members: Sequence[Member]) -> list[list[Neighbor]]:
        requested.extend(member.id for member in members)
        return [[Neighbor(str(j), "", 1.0) for i, j in sorted(edges) if str(i) == member.id] for member in members]

    return Clusters(find)


@given(edges=EDGES)
def test_groups_are_connected_components_and_each_document_is_requested_once(edges: set[tuple[int, int]]) -> None:
    mutual = edges | {(j, i) for i, j in edges}
    adjacency = np.zeros((40, 40))
    for i, j in mutual:
        adjacency[i, j] = 1
    _, component = connected_components(csr_array(adjacency))
    expected = [{str(i) for i in np.flatnonzero(component == each)} for each in np.unique(component)]
    requested: list[str] = []
    groups = list(clusters(mutual, requested).of([Member(str(i), "") for i in range(40)]))
    assert sorted(map(sorted, groups_of(groups))) == sorted(sorted(each) for each in expected if len(each) > 1)
    assert sorted(requested, key=int) == [str(i) for i in range(40)]


@given(edges=EDGES)
def test_a_member_names_an_earlier_neighbor(edges: set[tuple[int, int]]) -> None:
    for group in clusters(edges, []).of([Member(str(i), "") for i in range(40)]):
        assert group[0].like is None
        for place, member in enumerate(group[1:], 1):
            assert member.like in {each.id for each in group[:place]}
            assert (int(member.like or -1), int(member.id)) in edges


def test_a_group_is_yielded_before_later_documents_are_requested() -> None:
    requested: list[str] = []
    groups = clusters({(0, 1), (1, 0), (30, 31), (31, 30)}, requested).of([Member(str(i), "") for i in range(40)])
    assert [member.id for member in next(groups)] == ["0", "1"]
    assert "30" not in requested


def test_one_way_neighbors_join_a_group_from_either_side() -> None:
    groups = clusters({(5, 0)}, []).of([Member(str(i), "") for i in range(40)])
    assert groups_of(list(groups)) == [{"5", "0"}]


def groups_of(groups: list[list[Member]]) -> list[set[str]]:
    return [{member.id for member in group} for group in groups]


def test_equal_documents_beyond_k_form_pairs_with_a_known_one() -> None:
    """All documents are equal, and a search returns only the first 10."""
    edges = {(i, j) for i in range(40) for j in range(10)}
    groups = list(clusters(edges, []).of([Member(str(i), "") for i in range(40)]))
    assert {each.id for each in groups[0]} == {str(i) for i in range(10)}
    assert [[each.id for each in group] for group in groups[1:]] == [[str(i), "0"] for i in range(10, 40)]
