"""Typical scores, with a scorer that says what kind a pair is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from semblance.models.embeddings import Doubles
from semblance.models.errors import BadDataSet
from semblance.models.judgments.pairs import GradedPairs, LabeledPairs
from semblance_lab.evaluation.scorer import Scorer
from semblance_lab.evaluation.tasks import Task, Triplets
from semblance_lab.evaluation.typical_scores import GRADES, PAIRS, TypicalScores, typical_scores
from tests.lab.evaluation.samples import fake_scorer

COUNT = 900  # pairs of a set: a third unrelated, a third related, a third paraphrases


def kind_scorer(scored: list[list[tuple[str, str]]]) -> Scorer:
    """Scores 2 for the texts of a paraphrase, 1 for related ones, 0 if a pair was torn apart; keeps what it scored."""

    def scores(_: str, left: Sequence[str], right: Sequence[str]) -> Doubles:
        scored.append(list(zip(left, right, strict=True)))
        return np.array([float(a.split()[-1]) if a == b else 0.0 for a, b in scored[-1]])

    return fake_scorer(scores)


def task(name: str) -> Task:
    kinds = [i % 3 for i in range(COUNT)]
    texts = [f"{name} {i} {kind}" for i, kind in enumerate(kinds)]
    grades = GRADES[name]
    if grades is None:
        return LabeledPairs(texts, texts, [kind == 2 for kind in kinds])
    levels = (0.5, sum(grades[0]) / 2, grades[1][1])
    return GradedPairs(texts, texts, [levels[kind] for kind in kinds], [""] * COUNT)


def test_each_kind_has_the_same_pairs_in_equal_numbers() -> None:
    runs: list[list[list[tuple[str, str]]]] = [[], []]
    for scored in runs:
        [found] = typical_scores({name: task(name) for name in GRADES}, kind_scorer(scored), ["cosine"])
        # of labeled pairs, all that do not match are related, and half of those here score 0
        assert found == TypicalScores("cosine", random=(0.0, 0.0), related=(0.0, 1.0), paraphrases=(2.0, 2.0))
        assert list(map(len, scored)) == [len(GRADES) * PAIRS] * 3
    assert runs[0] == runs[1]


def test_sets_of_other_kinds_are_refused() -> None:
    tasks = {name: task(name) for name in GRADES} | {"pit_dev": Triplets(["a"], ["b"], ["c"])}
    with pytest.raises(BadDataSet, match="pit_dev has no grades or labels"):
        list(typical_scores(tasks, kind_scorer([]), ["cosine"]))
