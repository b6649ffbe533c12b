"""Evaluate measures on tasks: figures with intervals, and paired differences to a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from semblance.models.judgments.bootstrap import Interval, Resampling, bca, bca_mean, difference
from semblance.models.judgments.counts import Metric
from semblance_lab.evaluation.metrics import compute_metrics
from semblance_lab.evaluation.results import (
    PANEL,
    PANEL_MEAN,
    Difference,
    Evaluation,
    Figure,
    MeasureOutcome,
    TaskMetrics,
    panel_order,
)
from semblance_lab.evaluation.scorer import Scorer
from semblance_lab.evaluation.tasks import Task

STS_SETS = ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr")  # the papers report their unweighted mean
STS_AVERAGE = "sts_avg"
SEARCH_SETS = ("cranfield", "cisi", "medline", "nfcorpus_dev", "wikiqa_dev_search")
SEARCH_AVERAGE = "search_avg"
_AVERAGES = (  # name, kind, figure, sets
    (STS_AVERAGE, "graded pairs", "spearman", STS_SETS),
    (SEARCH_AVERAGE, "retrieval", "ndcg@10", SEARCH_SETS),
    (PANEL_MEAN, "panel", "mean", PANEL),
)


@dataclass(frozen=True, slots=True)
class _Measurement:
    """An outcome with the intervals of its main figure and of the baseline, if there is one."""

    outcome: MeasureOutcome
    interval: Interval
    baseline: Interval | None


def evaluate(
    tasks: Mapping[str, Task],
    scorer: Scorer,
    measures: Sequence[str],
    resampling: Resampling,
    baseline: str | Scorer | None = None,
) -> Evaluation:
    """Evaluate every measure on every task; the means over STS and the panel come last.

    Args:
        tasks: by name.
        scorer: computes the scores.
        measures: by name; a measure has no outcome on a task that it does not support.
        resampling: settings of the intervals.
        baseline: what figures are compared with on the same resamples, if anything: the measure of that name, or each
            measure with the same measure of another model.
    """
    baseline_name = baseline if baseline is None or isinstance(baseline, str) else baseline.about()["model"]
    measured: list[_Measurement] = []
    for name, task in scorer.track(list(tasks.items()), "sets"):
        metrics = compute_metrics(task, scorer, measures)
        intervals = {
            each: _intervals(metrics[each], resampling) for each in scorer.track(list(metrics), f"{name} intervals")
        }
        if baseline is None or isinstance(baseline, str):
            baselines = _measure_baselines(metrics, intervals, baseline)
        else:
            others = compute_metrics(task, baseline, measures)
            baselines = {measure: _intervals(each, resampling) for measure, each in others.items()}
        for measure, own in intervals.items():
            other = baselines.get(measure, [])
            against = [_difference(*pair, baseline_name) for pair in zip(own, other, strict=False)]
            outcome = _outcome(name, measure, metrics[measure], own, against)
            measured.append(_Measurement(outcome, own[0], other[0] if other else None))
    panel = panel_order([each.outcome for each in measured]) if tasks.keys() >= set(PANEL) else []
    rank = {name: at for at, name in enumerate(panel)}
    measured.sort(key=lambda each: rank.get(each.outcome.set, len(rank)))
    return Evaluation(
        about=scorer.about(),
        settings=asdict(resampling) | ({} if baseline_name is None else {"baseline": baseline_name}),
        outcomes=[*(each.outcome for each in measured), *_averages(measured, baseline_name)],
        panel=panel,
    )


def interval_of(metric: Metric, resampling: Resampling) -> Interval:
    """The BCa interval of a metric."""
    return _combined(metric, [bca(sample.statistic, sample.n, resampling) for sample in metric.samples])


def _measure_baselines(
    metrics: Mapping[str, TaskMetrics], intervals: Mapping[str, Sequence[Interval]], baseline: str | None
) -> dict[str, Sequence[Interval]]:
    """The intervals of the baseline measure, for every other measure on the same scale."""
    if baseline is None or baseline not in intervals or not metrics[baseline].comparable:
        return {}
    others = [measure for measure in intervals if measure != baseline and metrics[measure].comparable]
    return dict.fromkeys(others, intervals[baseline])


def _outcome(
    name: str, measure: str, task: TaskMetrics, intervals: Sequence[Interval], against: Sequence[Difference | None]
) -> MeasureOutcome:
    names = [metric.name for metric in task.metrics]
    differences = {figure: each for figure, each in zip(names, against, strict=False) if each is not None}
    return MeasureOutcome(
        set=name,
        kind=task.kind,
        n=task.n,
        measure=measure,
        figures=tuple(_figure(*pair) for pair in zip(names, intervals, strict=True)),
        parts=task.parts,
        against=differences.get(names[0]),
        further_against={figure: each for figure, each in differences.items() if figure != names[0]},
        comparable=task.comparable,
        groups=task.groups,
    )


def _intervals(task: TaskMetrics, resampling: Resampling) -> list[Interval]:
    """The interval of each metric; samples shared by several metrics are drawn once."""
    samples = dict.fromkeys(sample for metric in task.metrics for sample in metric.samples)
    drawn = {sample: bca(sample.statistic, sample.n, resampling) for sample in samples}
    return [_combined(each, [drawn[sample] for sample in each.samples]) for each in task.metrics]


def _combined(metric: Metric, intervals: Sequence[Interval]) -> Interval:
    return intervals[0] if len(intervals) == 1 else bca_mean(intervals, metric.shares)


def _averages(measured: Sequence[_Measurement], baseline: str | None) -> Iterator[MeasureOutcome]:
    """The means over the seven STS sets, five search collections and the panel.

    Measures without an outcome on all of the sets are left out.
    """
    for name, kind, figure, sets in _AVERAGES:
        for measure in dict.fromkeys(each.outcome.measure for each in measured):
            by_set = {each.outcome.set: each for each in measured if each.outcome.measure == measure}
            if not by_set.keys() >= set(sets):
                continue
            all_sets = [by_set[each] for each in sets]
            baselines = [all_set.baseline for all_set in all_sets if all_set.baseline is not None]
            mean = bca_mean([each.interval for each in all_sets])
            yield MeasureOutcome(
                set=name,
                kind=kind,
                n=sum(each.outcome.n for each in all_sets),
                measure=measure,
                figures=(_figure(figure, mean),),
                against=_difference(mean, bca_mean(baselines) if len(baselines) == len(sets) else None, baseline),
            )


def _figure(name: str, interval: Interval) -> Figure:
    return Figure(name, interval.estimate, interval.low, interval.high)


def _difference(own: Interval, other: Interval | None, baseline: str | None) -> Difference | None:
    """The difference of a figure to the baseline's, if there is a baseline."""
    if other is None or baseline is None:
        return None
    paired = difference(own, other)
    return Difference(baseline, paired.estimate, paired.low, paired.high, paired.significant)
