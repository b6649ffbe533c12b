"""The selection of diverse contexts, against its definition."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from semblance_lab.origin.scoring.contexts import ContextSet, select_diverse
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
    scores = np.array([score for score, _, _ in found], np.float64)
    chunks = np.array([chunk for _, chunk, _ in found], np.int64)
    return list(map(int, select_diverse(scores, chunks, [text for _, _, text in found], size, overlap)))


def test_the_worked_example() -> None:
    falling = np.arange(len(GOLDEN["chunks"]), 0, -1.0) - 10
    chunks = np.array(GOLDEN["chunks"])
    for size in range(1, 6):
        found = select_diverse(falling, chunks, GOLDEN["previous"], size, 0.5)
        assert found.tolist() == GOLDEN["chosen"][:size]


HALF = [(-1, 0, "one two three"), (-2, 1, "One two four"), (-3, 2, "one two three")]  # the first two share half


@example(HALF, 3, 0.5)
@example(HALF, 3, 0.51)
@example(HALF, 3, 1.0)
@given(candidates, st.integers(1, 8), st.sampled_from([0.2, 0.25, 0.5, 0.75, 1.0]))
def test_the_selection_matches_the_definition(found: list[tuple[int, int, str]], size: int, overlap: float) -> None:
    assert chosen(found, size, overlap) == by_definition(found, size, overlap)


def test_the_beginning_of_a_set_keeps_terms_and_flags() -> None:
    whole = ContextSet(np.array([7, 3, 5]), np.arange(12.0).reshape(3, 4), fallback=True, truncated=True)
    some = whole.first(2)
    assert (len(whole), len(some), some.fallback, some.truncated) == (3, 2, True, True)
    assert some.contexts.tolist() == [7, 3]
    assert some.terms.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_the_selection_from_many_candidates_matches_the_definition() -> None:
    random = np.random.default_rng(5)
    words = [f"w{i}" for i in range(60)]
    drawn = zip(random.integers(1000, size=400), random.integers(400, size=400), strict=True)
    found = [(-int(score), int(chunk), " ".join(random.choice(words, 12))) for score, chunk in drawn]
    assert chosen(found, 100, 0.3) == by_definition(found, 100, 0.3)
