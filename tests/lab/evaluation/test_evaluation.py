"""Comparison of two models, measure by measure, on the same resamples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from semblance.models.embeddings import Doubles
from semblance.models.judgments.bootstrap import Resampling
from semblance.models.judgments.pairs import GradedPairs
from semblance_lab.evaluation.evaluation import STS_AVERAGE, STS_SETS, evaluate
from semblance_lab.evaluation.reporting.report import write_report
from semblance_lab.evaluation.reporting.tables import tables
from semblance_lab.evaluation.results import (
    PANEL,
    PANEL_MEAN,
    Difference,
    Evaluation,
    Figure,
    MeasureOutcome,
    panel_order,
)
from semblance_lab.evaluation.scorer import Scorer
from tests.lab.evaluation.samples import fake_scorer

RESAMPLING = Resampling(draws=500, seed=3)
N = 60


def tasks(names: Sequence[str]) -> Mapping[str, GradedPairs]:
    random = np.random.default_rng(1)

    def drawn(name: str) -> GradedPairs:
        left, right = ([f"{name} {side} {i}" for i in range(N)] for side in ("left", "right"))
        return GradedPairs(left, right, random.normal(size=N).tolist(), [name] * N)

    return {name: drawn(name) for name in names}


def noisy(name: str, known: Mapping[str, GradedPairs], noise: float) -> Scorer:
    """Model whose scores are the gold grades plus different noise for each measure."""
    gold = {left: grade for each in known.values() for left, grade in zip(each.left, each.gold, strict=True)}

    def scores(measure: str, left: Sequence[str], right: Sequence[str]) -> Doubles:
        random = np.random.default_rng(100 + ("cosine", "rcmd").index(measure))
        return np.array([gold[each] for each in left]) + noise * random.normal(size=len(right))

    return fake_scorer(scores, name=name)


@cache
def compared(own: float, other: float, *names: str) -> Evaluation:
    """Two models whose scores have this much noise."""
    known = tasks(names)
    return evaluate(known, noisy("own", known, own), ["cosine", "rcmd"], RESAMPLING, noisy("rival", known, other))


def found_against(outcome: MeasureOutcome) -> Difference:
    assert outcome.against is not None
    return outcome.against


def test_model_does_not_differ_from_itself() -> None:
    for against in map(found_against, compared(0.5, 0.5, "stsb").outcomes):
        assert (against.value, against.low, against.high, against.significant) == (0, 0, 0, False)


def test_differences_compare_the_same_measure_of_two_models() -> None:
    better, worse = compared(0.3, 1.5, *STS_SETS), compared(1.5, 0.3, *STS_SETS)
    alone = {(each.set, each.measure): each for each in worse.outcomes}
    assert {name for name, _ in alone} == {*STS_SETS, STS_AVERAGE}
    values: dict[str, list[float]] = {"cosine": [], "rcmd": []}
    figures: dict[str, list[float]] = {"cosine": [], "rcmd": []}
    for outcome in better.outcomes:
        against, other = found_against(outcome), alone[outcome.set, outcome.measure]
        assert against.baseline == "rival"
        difference = outcome.figures[0].value - other.figures[0].value
        assert against.value == pytest.approx(difference, abs=1e-12)
        assert against.low < against.value < against.high
        assert against.significant == (against.low > 0)
        if outcome.set == STS_AVERAGE:
            assert against.value == pytest.approx(np.mean(values[outcome.measure]), abs=1e-12)
            assert outcome.figures[0].value == pytest.approx(np.mean(figures[outcome.measure]), abs=1e-12)
            assert (outcome.n, against.significant) == (N * len(STS_SETS), True)
            continue
        values[outcome.measure].append(against.value)
        figures[outcome.measure].append(outcome.figures[0].value)
        [(name, further)] = outcome.further_against.items()
        assert name == "pearson"
        difference = outcome.figure("pearson").value - other.figure("pearson").value
        assert further.value == pytest.approx(difference, abs=1e-12)


def test_difference_intervals_are_paired() -> None:
    """Noise that two models share cancels out, because their pairs are drawn together."""
    [outcome, _] = compared(1.0, 1.1, "stsb").outcomes
    paired = found_against(outcome).high - found_against(outcome).low
    assert paired < (outcome.figures[0].high - outcome.figures[0].low) / 2


def test_differences_have_their_own_table() -> None:
    [table] = [each for each in tables(compared(0.3, 1.5, "stsb")) if "Differences" in each.title]
    assert table.title == "Differences to rival, times 100, with their intervals"
    assert table.header == ("set", "figure", "cosine", "rcmd")
    assert [row[:2] for row in table.rows] == [("stsb", "spearman"), ("stsb", "pearson")]
    assert table.rows[0][2].startswith("+")
    assert "*" in table.rows[0][2]


def outcome(name: str, measure: str, difference: float | None, kind: str) -> MeasureOutcome:
    against = None if difference is None else Difference("rival", difference, difference, difference, True)
    return MeasureOutcome(name, kind, 1, measure, (Figure("spearman", 0.5, 0.4, 0.6),), against=against)


# set, kind, and the differences of cosine and rcmd to those of the other model
TO_A_MODEL = (
    ("cisi", "retrieval", 0.2, 0.3),
    ("pit_dev", "graded pairs", 0.9, -0.1),
    ("argkp_dev", "labelled pairs", -0.05, 0.0),
    ("stsb", "graded pairs", -1.0, 0.0),
)
TO_A_MEASURE = (
    ("qqp_dev_panel", "labelled pairs", None, -0.3),
    ("cisi", "retrieval", None, -0.9),
    ("argkp_dev", "labelled pairs", None, 0.0),
    ("pit_dev", "graded pairs", None, 0.0),
)


@pytest.mark.parametrize(
    ("sets", "order"),
    [(TO_A_MODEL, ["pit_dev", "argkp_dev", "cisi"]), (TO_A_MEASURE, ["pit_dev", "argkp_dev", "qqp_dev_panel", "cisi"])],
)
def test_the_worst_difference_or_else_kind_and_name_come_first(
    sets: Sequence[tuple[str, str, float | None, float]], order: Sequence[str]
) -> None:
    outcomes = [outcome(name, "cosine", cosine, kind) for name, kind, cosine, _ in sets]
    assert panel_order(outcomes + [outcome(name, "rcmd", rcmd, kind) for name, kind, _, rcmd in sets]) == order


def test_the_panel_ends_with_the_mean_of_its_sets(tmp_path: Path) -> None:
    found = compared(0.3, 1.5, "stsb", *PANEL)
    assert {each.set for each in found.outcomes} == {"stsb", *PANEL, PANEL_MEAN}
    against = {(each.set, each.measure): found_against(each) for each in found.outcomes}
    for measure in ("cosine", "rcmd"):
        [*of_panel, mean] = [each for each in found.outcomes if each.measure == measure and each.set != "stsb"]
        assert (mean.set, mean.figures[0].name, mean.n) == (PANEL_MEAN, "mean", N * len(PANEL))
        assert mean.figures[0].value == pytest.approx(np.mean([each.figures[0].value for each in of_panel]), abs=1e-12)
        differences = list(map(found_against, of_panel))
        own = found_against(mean)
        assert own.value == pytest.approx(np.mean([each.value for each in differences]), abs=1e-12)
        # independent sets: the variance of a mean is the sum of the variances, over the square of their number
        widths = np.array([each.high - each.low for each in differences])
        assert own.high - own.low == pytest.approx(np.sqrt((widths**2).sum()) / len(PANEL), rel=0.2)
    worst = [min(against[name, measure].value for measure in ("cosine", "rcmd")) for name in found.panel]
    assert worst == sorted(worst)
    panel, *others = tables(found)
    assert [row[0] for row in panel.rows] == [*found.panel, PANEL_MEAN]
    assert panel.header == ("set", "n", "figure", "cosine", "rcmd", "cosine - rival", "rcmd - rival")
    for name, *_, cosine, rcmd in panel.rows:
        for cell, measure in ((cosine, "cosine"), (rcmd, "rcmd")):
            assert cell.startswith(f"{100 * against[name, measure].value:+.2f}")
    assert {row[0] for table in others for row in table.rows} == {"stsb"}
    assert f"| {found.panel[0]} | 60 | spearman |" in write_report(found, tmp_path).read_text("utf-8")


@pytest.mark.parametrize("sets", [PANEL, STS_SETS])
def test_a_part_of_several_sets_has_no_mean(sets: Sequence[str]) -> None:
    found = compared(0.3, 1.5, *sets[1:])
    assert found.panel == []
    assert {each.set for each in found.outcomes} == set(sets[1:])


def test_the_panel_of_one_model_compares_measures() -> None:
    known = tasks(PANEL)
    found = evaluate(known, noisy("own", known, 1.0), ["cosine", "rcmd"], RESAMPLING, "cosine")
    [table] = tables(found)
    assert table.header == ("set", "n", "figure", "cosine", "rcmd", "rcmd - cosine")
    assert [row[0] for row in table.rows] == [*sorted(PANEL), PANEL_MEAN]
