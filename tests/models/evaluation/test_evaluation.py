"""Comparison of two models, measure by measure, on the same resamples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from semblance.models.embeddings import Doubles
from semblance.models.evaluation.evaluation import STS_AVERAGE, STS_SETS, evaluate
from semblance.models.evaluation.reporting.tables import tables
from semblance.models.evaluation.results import Evaluation
from semblance.models.evaluation.scorer import LocalScorer
from semblance.models.evaluation.statistics.bootstrap import Resampling
from semblance.models.evaluation.tasks import GradedPairs, Task
from tests.support.small_model import load

RESAMPLING = Resampling(draws=500, seed=3)
N = 60


def tasks(names: Sequence[str]) -> Mapping[str, Task]:
    random = np.random.default_rng(1)
    return {
        name: GradedPairs(
            [f"{name} left {i}" for i in range(N)],
            [f"{name} right {i}" for i in range(N)],
            random.normal(size=N).tolist(),
            [name] * N,
        )
        for name in names
    }


class Noisy(LocalScorer):
    """Model whose scores are the gold grades plus different noise for each measure."""

    def __init__(self, name: str, known: Mapping[str, Task], noise: float) -> None:
        super().__init__(load("minilm"), lambda items, what: items)  # noqa: ARG005 - no progress bar
        self._name, self._noise = name, noise
        self._gold = {
            left: grade
            for each in known.values()
            if isinstance(each, GradedPairs)
            for left, grade in zip(each.left, each.gold, strict=True)
        }

    def about(self) -> Mapping[str, str]:
        return {"model": self._name}

    def scores(self, measures: Sequence[str], left: Sequence[str], right: Sequence[str]) -> dict[str, Doubles]:
        del right
        gold = np.array([self._gold[each] for each in left])
        return {
            measure: gold + self._noise * np.random.default_rng(100 + i).normal(size=len(gold))
            for i, measure in enumerate(measures)
        }


def compared(names: Sequence[str], own: float, other: float) -> Evaluation:
    known = tasks(names)
    measures = ["cosine", "rcmd"]
    rival = Noisy("rival", known, other)
    return evaluate(known, Noisy("own", known, own), measures, RESAMPLING, rival)


def test_model_does_not_differ_from_itself() -> None:
    for outcome in compared(["stsb"], 0.5, 0.5).outcomes:
        assert outcome.against is not None
        assert (outcome.against.value, outcome.against.low, outcome.against.high) == (0, 0, 0)
        assert not outcome.against.significant


def test_differences_compare_the_same_measure_of_two_models() -> None:
    better, worse = compared(STS_SETS, 0.3, 1.5), compared(STS_SETS, 1.5, 0.3)
    alone = {(each.set, each.measure): each.figures[0].value for each in worse.outcomes}
    assert {name for name, _ in alone} == {*STS_SETS, STS_AVERAGE}
    for outcome in better.outcomes:
        against = outcome.against
        assert against is not None
        assert against.baseline == "rival"
        other = outcome.figures[0].value - against.value
        assert other == pytest.approx(alone[outcome.set, outcome.measure], abs=1e-12)
        assert against.low < against.value < against.high
        assert against.significant == (against.low > 0)
    seven = {m: [o for o in better.outcomes if o.measure == m and o.set in STS_SETS] for m in ("cosine", "rcmd")}
    for mean in (each for each in better.outcomes if each.set == STS_AVERAGE):
        assert mean.against is not None
        values = [each.against.value for each in seven[mean.measure] if each.against is not None]
        assert mean.against.value == pytest.approx(np.mean(values), abs=1e-12)
        assert mean.against.significant


def test_difference_intervals_are_paired() -> None:
    """Noise that two models share cancels out, because their pairs are drawn together."""
    [outcome, _] = compared(["stsb"], 1.0, 1.1).outcomes
    assert outcome.against is not None
    paired = outcome.against.high - outcome.against.low
    single = outcome.figures[0].high - outcome.figures[0].low
    assert paired < single / 2


def test_differences_have_their_own_table() -> None:
    [table] = [each for each in tables(compared(["stsb"], 0.3, 1.5)) if "Differences" in each.title]
    assert table.title == "Differences to rival, times 100, with their intervals"
    assert table.header == ("set", "figure", "cosine", "rcmd")
    assert [row[:2] for row in table.rows] == [("stsb", "spearman"), ("stsb", "pearson")]
    assert table.rows[0][2].startswith("+")
    assert "*" in table.rows[0][2]


def test_every_figure_of_a_set_has_a_difference() -> None:
    for outcome in compared(["stsb"], 0.3, 1.5).outcomes:
        [name] = outcome.further_against
        assert name == "pearson"
        [alone] = [each for each in compared(["stsb"], 1.5, 0.3).outcomes if each.measure == outcome.measure]
        difference = outcome.figure("pearson").value - alone.figure("pearson").value
        assert outcome.further_against["pearson"].value == pytest.approx(difference, abs=1e-12)
        assert outcome.further_against["pearson"].low > 0
