"""Parts of data sets: hashes of pairs, connected sentences, splits and samples."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.errors import BadDataSet
from semblance.models.judgments.pairs import GradedPairs, LabeledPairs
from semblance_lab.evaluation.datasets.panel_parts import (
    connected_groups,
    hashes_of,
    pair_hash,
    pairs_of,
    part,
    sample,
    split_off,
)
from semblance_lab.evaluation.tasks import ChunkAlignment, ChunkedPair, Rankings

Pairs = list[tuple[str, str]]

# few sentences, so that many pairs share one; equal ones differ in case and punctuation
spelled = st.builds(str.format, st.sampled_from(["word {}", "WORD {}", "Word {}!"]), st.integers(0, 25))
drawn_pairs = st.lists(st.tuples(spelled, spelled), min_size=1, max_size=30)


def components(pairs: Sequence[tuple[str, str]]) -> set[frozenset[int]]:
    """Sets of connected rows, by merging each pair with the groups that share a sentence with it."""
    groups: list[tuple[set[int], set[str]]] = []
    for row, pair in enumerate(pairs):
        rows, texts = {row}, {text.lower().rstrip("!") for text in pair}
        for group in [each for each in groups if each[1] & texts]:
            groups.remove(group)
            rows, texts = rows | group[0], texts | group[1]
        groups.append((rows, texts))
    return {frozenset(rows) for rows, _ in groups}


def test_the_hash_is_of_sorted_normal_forms() -> None:
    expected = hashlib.sha256(b"a dog runs\nthe cat s asleep").hexdigest()[:8]
    assert pair_hash("The cat's asleep.", "A dog  runs!") == expected
    assert pair_hash("a DOG runs", "the cat s asleep") == expected
    assert pair_hash("a dog", "runs the cat s asleep") != expected


@given(drawn_pairs)
def test_groups_are_the_connected_components(pairs: Pairs) -> None:
    groups = connected_groups(pairs).tolist()
    found = {frozenset(row for row, each in enumerate(groups) if each == group) for group in set(groups)}
    assert found == components(pairs)


def test_a_long_chain_is_one_group() -> None:
    assert not connected_groups([(f"s{i}", f"s{i + 1}") for i in range(5000)]).any()
    assert connected_groups([]).tolist() == []


@given(pairs=drawn_pairs, share=st.floats(0, 1), data=st.data())
def test_a_split_keeps_connected_sentences_together(pairs: Pairs, share: float, data: st.DataObject) -> None:
    apart = {pair_hash(*pair) for pair in data.draw(st.lists(st.sampled_from(pairs), max_size=3))}
    taken = set(split_off(pairs, share, apart))
    rest = set(range(len(pairs))) - taken
    groups = components(pairs)
    assert all(group <= taken or group <= rest for group in groups)
    blocked = {group for group in groups if any(pair_hash(*pairs[row]) in apart for row in group)}
    assert all(group <= rest for group in blocked)
    wanted = share * len(pairs)
    assert len(taken) >= wanted or all(group <= taken for group in groups - blocked)
    assert not taken or len(taken) - max(len(group) for group in groups if group <= taken) < wanted


@given(pairs=drawn_pairs, share=st.floats(0, 1), order=st.randoms(use_true_random=False))
def test_a_split_does_not_depend_on_the_order(pairs: Pairs, share: float, order: Random) -> None:
    shuffled = list(pairs)
    order.shuffle(shuffled)
    chosen = sorted(pairs[row] for row in split_off(pairs, share))
    assert sorted(shuffled[row] for row in split_off(shuffled, share)) == chosen


def labeled(pairs: Pairs) -> LabeledPairs:
    return LabeledPairs([a for a, _ in pairs], [b for _, b in pairs], [len(a) % 2 == 0 for a, _ in pairs])


def test_a_sample_has_the_smallest_hashes_in_any_order() -> None:
    pairs = [(f"left {i}", f"right {i}") for i in range(200)]
    rows = sample(labeled(pairs), 50)
    hashes = hashes_of(labeled(pairs))
    assert len(rows) == len(set(rows)) == 50
    assert max(hashes[row] for row in rows) < min(hashes[row] for row in range(200) if row not in rows)
    backwards = pairs[::-1]
    assert {pairs[row] for row in rows} == {backwards[row] for row in sample(labeled(backwards), 50)}
    assert sorted(sample(labeled(pairs), 1_000)) == list(range(200))


def test_a_part_keeps_rows_aligned_and_in_order() -> None:
    task = labeled([("a", "b"), ("cc", "d"), ("e", "f"), ("gg", "h")])
    assert part(task, [3, 0]) == LabeledPairs(["a", "gg"], ["b", "h"], [False, True])
    chunked = [ChunkedPair(str(i), ("a", "dog"), (str(i),), ((1, 2),), ((1,),), ()) for i in range(3)]
    assert part(ChunkAlignment(chunked), {1}) == ChunkAlignment([chunked[1]])
    assert pairs_of(ChunkAlignment(chunked))[2] == ("a dog", "2")


def test_graded_pairs_of_a_part_are_grouped_by_sentences() -> None:
    task = GradedPairs(["a", "b", "A.", "c"], ["x", "y", "z", "Y"], [1, 2, 3, 4], ["p"] * 4)
    assert part(task, [0, 1, 2, 3]) == replace(task, groups=["0", "1", "0", "1"])
    assert part(task, [0, 1]) == GradedPairs(["a", "b"], ["x", "y"], [1, 2], ["p", "p"], ["0", "1"])
    grouped = replace(task, groups=["g", "g", "h", "h"])
    assert part(grouped, [0, 1, 2, 3]) == grouped


def test_a_task_without_pairs_has_no_parts() -> None:
    with pytest.raises(BadDataSet, match="a set of Rankings has no pairs that a part could list"):
        pairs_of(Rankings(["q"], [["a"]], [[1.0]]))
