"""Typical scores, with a scorer that says what kind a pair is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest

from semblance.models.embeddings import Doubles
from semblance.models.errors import BadDataSet
from semblance.models.evaluation.scorer import Scorer
from semblance.models.evaluation.tasks import GradedPairs, LabeledPairs, Task, Triplets
from semblance.models.evaluation.typical_scores import GRADES, PAIRS, TypicalScores, typical_scores

COUNT = 900  # pairs of a set: a third unrelated, a third related, a third paraphrases


class KindScorer:
    """Scores 2 for the texts of a paraphrase, 1 for related ones, and 0 if a pair was torn apart."""

    def __init__(self) -> None:
        self.pairs: list[list[tuple[str, str]]] = []

    def scores(self, measures: Sequence[str], left: Sequence[str], right: Sequence[str]) -> dict[str, Doubles]:
        self.pairs.append(list(zip(left, right, strict=True)))
        each = [int(a.split()[-1]) if a == b else 0 for a, b in self.pairs[-1]]
        return {name: np.array(each, np.float64) for name in measures}


def task(name: str) -> Task:
    kinds = [i % 3 for i in range(COUNT)]
    texts = [f"{name} {i} {kind}" for i, kind in enumerate(kinds)]
    grades = GRADES[name]
    if grades is None:
        return LabeledPairs(texts, texts, [kind == 2 for kind in kinds])
    levels = (0.5, sum(grades[0]) / 2, grades[1][1])
    return GradedPairs(texts, texts, [levels[kind] for kind in kinds], [""] * COUNT)


def test_each_kind_has_the_same_pairs_in_equal_numbers() -> None:
    scorers = [KindScorer(), KindScorer()]
    for scorer in scorers:
        [found] = typical_scores({name: task(name) for name in GRADES}, cast("Scorer", scorer), ["cosine"])
        # of labeled pairs, all that do not match are related, and half of those here score 0
        assert found == TypicalScores("cosine", random=(0.0, 0.0), related=(0.0, 1.0), paraphrases=(2.0, 2.0))
        assert list(map(len, scorer.pairs)) == [len(GRADES) * PAIRS] * 3
    assert scorers[0].pairs == scorers[1].pairs


def test_sets_of_other_kinds_are_refused() -> None:
    tasks = {name: task(name) for name in GRADES} | {"pit_dev": Triplets(["a"], ["b"], ["c"])}
    with pytest.raises(BadDataSet, match="pit_dev has no grades or labels"):
        list(typical_scores(tasks, cast("Scorer", KindScorer()), ["cosine"]))
