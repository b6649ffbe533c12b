"""The selection of diverse contexts, against its definition."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.origin.scoring.contexts import ContextSet, select_diverse
from tests.support.project import GOLDEN_FILES

GOLDEN = json.loads((GOLDEN_FILES / "origin.json").read_text())

sentences = st.lists(st.sampled_from(["a", "b", "c", "D", "d", "e", "f g"]), max_size=5).map(" ".join)
candidates = st.lists(st.tuples(st.integers(-4, 0), st.integers(0, 6), sentences), max_size=14)


def jaccard(a: str, b: str) -> float:
    one, other = set(a.lower().split()), set(b.lower().split())
    return len(one & other) / len(one | other) if one | other else 1.0


def by_definition(found: list[tuple[int, int, str]], size: int, overlap: float) -> list[int]:
    taken: list[int] = []
    for i in sorted(range(len(found)), key=lambda i: (-found[i][0], i)):
        others = [found[j] for j in taken]
        apart = overlap >= 1 or all(jaccard(found[i][2], previous) < overlap for _, _, previous in others)
        if len(taken) < size and apart and found[i][1] not in {chunk for _, chunk, _ in others}:
            taken.append(i)
    return taken


def chosen(found: list[tuple[int, int, str]], size: int, overlap: float) -> list[int]:
    scores, chunks, previous = ([each[i] for each in found] for i in range(3))
    numbers, previous_texts = np.array(chunks, np.int64), [str(each) for each in previous]
    return list(map(int, select_diverse(np.array(scores, np.float64), numbers, previous_texts, size, overlap)))


def test_the_worked_example() -> None:
    falling = np.arange(len(GOLDEN["chunks"]), 0, -1.0) - 10
    chunks = np.array(GOLDEN["chunks"])
    for size in range(1, 6):
        found = select_diverse(falling, chunks, GOLDEN["previous"], size, 0.5)
        assert found.tolist() == GOLDEN["chosen"][:size]


@given(candidates, st.integers(1, 8), st.sampled_from([0.2, 0.25, 0.5, 0.75, 1.0]))
def test_the_selection_matches_the_definition(found: list[tuple[int, int, str]], size: int, overlap: float) -> None:
    assert chosen(found, size, overlap) == by_definition(found, size, overlap)


@given(candidates, st.integers(1, 8))
def test_the_selection_is_diverse_and_starts_with_the_best(found: list[tuple[int, int, str]], size: int) -> None:
    taken = chosen(found, size, 0.5)
    assert len(taken) <= size
    assert len({found[i][1] for i in taken}) == len(taken)
    assert all(jaccard(found[i][2], found[j][2]) < 0.5 for i in taken for j in taken if i != j)
    if found:
        assert found[taken[0]][0] == max(score for score, _, _ in found)


@given(candidates, st.integers(1, 8), st.integers(1, 8))
def test_a_smaller_selection_is_the_beginning_of_a_larger_one(
    found: list[tuple[int, int, str]], size: int, other: int
) -> None:
    small, large = sorted((size, other))
    assert chosen(found, large, 0.5)[:small] == chosen(found, small, 0.5)


def test_an_overlap_of_half_the_words_excludes_a_context() -> None:
    found = [(-1, 0, "one two three"), (-2, 1, "One two four"), (-3, 2, "one two three")]
    assert jaccard(found[0][2], found[1][2]) == 0.5
    assert chosen(found, 3, 0.5) == [0]
    assert chosen(found, 3, 0.51) == [0, 1]
    assert chosen(found, 3, 1.0) == [0, 1, 2]


def test_the_beginning_of_a_set_keeps_terms_and_flags() -> None:
    whole = ContextSet(np.array([7, 3, 5]), np.arange(12.0).reshape(3, 4), fallback=True, truncated=True)
    some = whole.first(2)
    assert len(whole) == 3
    assert len(some) == 2
    assert some.contexts.tolist() == [7, 3]
    assert some.terms.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert some.fallback
    assert some.truncated


@pytest.mark.parametrize("size", [400, 2_000])
def test_the_selection_from_many_candidates_matches_the_definition(size: int) -> None:
    random = np.random.default_rng(5)
    words = [f"w{i}" for i in range(60)]
    found = [
        (-int(random.integers(1000)), int(random.integers(size)), " ".join(random.choice(words, 12)))
        for _ in range(size)
    ]
    assert chosen(found, 100, 0.3) == by_definition(found, 100, 0.3)
