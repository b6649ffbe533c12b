"""Groups of near-duplicates against connected components, on graphs of any shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from semblance.service.cli.clusters import Member, NearGroups, Neighbour

EDGES = st.sets(st.tuples(st.integers(0, 39), st.integers(0, 39)), max_size=60)


def near_by(edges: set[tuple[int, int]], asked: list[str]) -> NearGroups:
    def near(members: Sequence[Member]) -> list[list[Neighbour]]:
        asked.extend(member.id for member in members)
        return [[Neighbour(str(j), "", 1.0) for i, j in sorted(edges) if str(i) == member.id] for member in members]

    return NearGroups(near)


@given(edges=EDGES)
def test_groups_are_the_connected_components_and_each_document_is_asked_for_once(edges: set[tuple[int, int]]) -> None:
    mutual = edges | {(j, i) for i, j in edges}
    adjacency = np.zeros((40, 40))
    for i, j in mutual:
        adjacency[i, j] = 1
    _, component = connected_components(csr_array(adjacency))
    wanted = [{str(i) for i in np.flatnonzero(component == each)} for each in np.unique(component)]
    asked: list[str] = []
    groups = list(near_by(mutual, asked).of([Member(str(i), "") for i in range(40)]))
    assert sorted(map(sorted, groups_of(groups))) == sorted(sorted(each) for each in wanted if len(each) > 1)
    assert sorted(asked, key=int) == [str(i) for i in range(40)]


@given(edges=EDGES)
def test_a_member_names_a_neighbour_that_stands_before_it(edges: set[tuple[int, int]]) -> None:
    for group in near_by(edges, []).of([Member(str(i), "") for i in range(40)]):
        assert group[0].like is None
        for place, member in enumerate(group[1:], 1):
            assert member.like in {each.id for each in group[:place]}
            assert (int(member.like or -1), int(member.id)) in edges


def test_a_group_is_given_before_the_next_documents_are_asked_for() -> None:
    asked: list[str] = []
    groups = near_by({(0, 1), (1, 0), (30, 31), (31, 30)}, asked).of([Member(str(i), "") for i in range(40)])
    assert [member.id for member in next(groups)] == ["0", "1"]
    assert "30" not in asked


def test_one_way_neighbours_join_a_group_from_either_side() -> None:
    groups = near_by({(5, 0)}, []).of([Member(str(i), "") for i in range(40)])
    assert groups_of(list(groups)) == [{"5", "0"}]


def groups_of(groups: list[list[Member]]) -> list[set[str]]:
    return [{member.id for member in group} for group in groups]


def test_of_a_crowd_that_knows_only_its_first_few_the_rest_join_by_one_each() -> None:
    """As where a search gives at most so many neighbours, and all documents are equal."""
    edges = {(i, j) for i in range(40) for j in range(10)}
    groups = list(near_by(edges, []).of([Member(str(i), "") for i in range(40)]))
    assert {each.id for each in groups[0]} == {str(i) for i in range(10)}
    assert [[each.id for each in group] for group in groups[1:]] == [[str(i), "0"] for i in range(10, 40)]
