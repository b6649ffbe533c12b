"""Hits chosen by group and by diversity, against definitions spelled out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from semblance.models.embeddings import unit_rows
from semblance.service.ports.documents import Document
from semblance.service.usecases.search.choice import Choice, marginally_relevant
from semblance.service.usecases.search.hits import ScoredPassage, SearchHit

VALUES = st.one_of(st.none(), st.sampled_from([1, 1.0, True, "a", "b", ["a"]]))


def hits_of(values: list[Any]) -> list[SearchHit]:
    """Hits with a metadata field `team`, best first; a value of None stands for documents without it."""
    documents = [Document(str(i), "text", {} if each is None else {"team": each}) for i, each in enumerate(values)]
    return [SearchHit(each, 1 - i / 100, [ScoredPassage(0, 4, 1 - i / 100, 0)]) for i, each in enumerate(documents)]


def ids(hits: list[SearchHit]) -> list[int]:
    return [int(hit.document.id) for hit in hits]


@given(values=st.lists(VALUES, max_size=12), size=st.integers(1, 3), k=st.integers(1, 12))
def test_groups_hold_the_best_hits_of_each_value(values: list[Any], size: int, k: int) -> None:
    keys = [f"{type(v) is bool}{v:g}" if isinstance(v, int | float) else f"text {v}" for v in values]
    keys = [
        key if isinstance(v, str | int | float) else f"own {i}"
        for i, (v, key) in enumerate(zip(values, keys, strict=True))
    ]
    first = list(dict.fromkeys(keys))[:k]
    expected = [i for key in first for i in [i for i, own in enumerate(keys) if own == key][:size]]
    assert ids(Choice("team", size).of(hits_of(values), {}, k)) == expected


@given(seed=st.integers(0, 100), n=st.integers(1, 12), k=st.integers(1, 12), diversity=st.floats(0.01, 1.0))
def test_each_diverse_hit_is_the_best_that_is_left(seed: int, n: int, k: int, diversity: float) -> None:
    """In plain loops: no other item left has a larger marginal relevance than the one chosen."""
    rng = np.random.default_rng(seed)
    relevance, vectors = rng.normal(size=n).astype(np.float32), unit_rows(rng.normal(size=(n, 3))).astype(np.float32)
    chosen = marginally_relevant(relevance, vectors, diversity, k)
    assert len(chosen) == len(set(chosen)) == min(k, n)
    for place, item in enumerate(chosen):
        before = chosen[:place]

        def value(i: int, before: list[int] = before) -> float:
            alike = max((float(sum(vectors[i] * vectors[j])) for j in before), default=0.0)
            return float((1 - diversity) * relevance[i] - diversity * alike)

        best = max(value(i) for i in range(n) if i not in before)
        assert math.isclose(value(item), best, abs_tol=1e-5)


def test_a_diverse_choice_leaves_out_a_twin() -> None:
    vectors = {"0": np.array([[1.0, 0.0]]), "1": np.array([[1.0, 0.0]]), "2": np.array([[0.0, 1.0]])}
    hits = hits_of([None, None, None])
    assert ids(Choice(diversity=0.5).of(hits, vectors, 2)) == [0, 2]
    assert ids(Choice(diversity=0.001).of(hits, vectors, 2)) == [0, 1]
    assert ids(Choice(diversity=0.5).of(hits, {"0": vectors["0"]}, 3)) == [0]
