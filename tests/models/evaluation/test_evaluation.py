"""Comparison of two models, measure by measure, on the same resamples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from semblance.models.embeddings import Doubles
from semblance.models.evaluation.evaluation import STS_AVERAGE, STS_SETS, evaluate
from semblance.models.evaluation.panel import PANEL, PANEL_MEAN, panel_order
from semblance.models.evaluation.reporting.report import write_report
from semblance.models.evaluation.reporting.tables import tables
from semblance.models.evaluation.results import Difference, Evaluation, Figure, MeasureOutcome
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


def outcome(name: str, measure: str, difference: float | None, kind: str = "graded pairs") -> MeasureOutcome:
    against = None if difference is None else Difference("rival", difference, difference, difference, True)
    return MeasureOutcome(name, kind, 1, measure, (Figure("spearman", 0.5, 0.4, 0.6),), against=against)


def test_the_worst_difference_of_any_measure_comes_first() -> None:
    outcomes = [
        outcome("cisi", "cosine", 0.2),
        outcome("cisi", "rcmd", 0.3),
        outcome("pit_dev", "cosine", 0.9),
        outcome("pit_dev", "rcmd", -0.1),
        outcome("argkp_dev", "cosine", -0.05),
        outcome("stsb", "cosine", -1.0),
    ]
    assert panel_order(outcomes) == ["pit_dev", "argkp_dev", "cisi"]


def test_without_another_model_kinds_and_names_order_the_panel() -> None:
    outcomes = [
        outcome("qqp_dev_panel", "cosine", None, "labelled pairs"),
        outcome("qqp_dev_panel", "rcmd", -0.3, "labelled pairs"),
        outcome("cisi", "cosine", None, "retrieval"),
        outcome("cisi", "rcmd", -0.9, "retrieval"),
        outcome("argkp_dev", "cosine", None, "labelled pairs"),
        outcome("pit_dev", "cosine", None),
    ]
    assert panel_order(outcomes) == ["pit_dev", "argkp_dev", "qqp_dev_panel", "cisi"]


def test_the_panel_ends_with_the_mean_of_its_sets(tmp_path: Path) -> None:
    found = compared(["stsb", *PANEL], 0.3, 1.5)
    assert {each.set for each in found.outcomes} == {"stsb", *PANEL, PANEL_MEAN}
    for measure in ("cosine", "rcmd"):
        of_panel = [each for each in found.outcomes if each.measure == measure and each.set in PANEL]
        [mean] = [each for each in found.outcomes if each.measure == measure and each.set == PANEL_MEAN]
        assert mean.figures[0].name == "mean"
        assert mean.figures[0].value == pytest.approx(np.mean([each.figures[0].value for each in of_panel]), abs=1e-12)
        assert mean.n == N * len(PANEL)
        differences = [each.against for each in of_panel if each.against is not None]
        assert len(differences) == len(PANEL)
        assert mean.against is not None
        assert mean.against.value == pytest.approx(np.mean([each.value for each in differences]), abs=1e-12)
        # independent sets: the variance of a mean is the sum of the variances, over the square of their number
        widths = np.array([each.high - each.low for each in differences])
        expected = float(np.sqrt((widths**2).sum()) / len(PANEL))
        assert mean.against.high - mean.against.low == pytest.approx(expected, rel=0.2)
    worst = [min(each.against.value for each in found.outcomes if each.set == n and each.against) for n in found.panel]
    assert worst == sorted(worst)
    *others, panel = tables(found)
    assert [row[0] for row in panel.rows] == [*found.panel, PANEL_MEAN]
    assert panel.header == ("set", "n", "figure", "cosine", "rcmd", "cosine - rival", "rcmd - rival")
    against = {(each.set, each.measure): each.against for each in found.outcomes}
    for name, *_, cosine, rcmd in panel.rows:
        for cell, measure in ((cosine, "cosine"), (rcmd, "rcmd")):
            difference = against[name, measure]
            assert difference is not None
            assert cell.startswith(f"{100 * difference.value:+.2f}")
    assert {row[0] for table in others for row in table.rows} == {"stsb"}
    assert f"| {found.panel[0]} | 60 | spearman |" in write_report(found, tmp_path).read_text("utf-8")


def test_a_part_of_the_panel_has_no_mean() -> None:
    found = compared(PANEL[1:], 0.3, 1.5)
    assert found.panel == []
    assert {each.set for each in found.outcomes} == set(PANEL[1:])


def test_the_panel_of_one_model_compares_measures() -> None:
    known = tasks(PANEL)
    found = evaluate(known, Noisy("own", known, 1.0), ["cosine", "rcmd"], RESAMPLING, "cosine")
    [table] = tables(found)
    assert table.header == ("set", "n", "figure", "cosine", "rcmd", "rcmd - cosine")
    assert [row[0] for row in table.rows] == [*sorted(PANEL), PANEL_MEAN]
