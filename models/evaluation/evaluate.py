"""One evaluation: tasks, measures, and what came out, with intervals and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from models.evaluation.bootstrap import Interval, bca, bca_mean, difference
from models.evaluation.kinds import judge
from models.evaluation.outcomes import Difference, Evaluation, Figure, Outcome
from models.evaluation.quantities import Judged, Quantity, Sample
from models.evaluation.scorer import Scorer
from models.evaluation.tasks import Task

SEVEN = ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr")  # whose plain mean the papers report
AVERAGE = "sts_avg"


@dataclass(frozen=True, slots=True)
class Plan:
    """How intervals are made: resamples, seed, level; and the measure that the others are compared with, if any."""

    draws: int = 2_000
    seed: int = 1111
    level: float = 0.95
    baseline: str | None = None


@dataclass(frozen=True, slots=True)
class _Measured:
    """An outcome, and the interval behind its first figure."""

    outcome: Outcome
    interval: Interval


def evaluate(tasks: Mapping[str, Task], scorer: Scorer, measures: Sequence[str], plan: Plan) -> Evaluation:
    """Put every task to every measure. Where all seven STS sets are among them, their mean stands in `averages`."""
    measured: list[_Measured] = []
    for name, task in scorer.track(list(tasks.items()), "sets"):
        judged = judge(task, scorer, measures)
        found = {each: _intervals(judged[each], plan) for each in scorer.track(list(judged), f"{name} intervals")}
        compared = {measure: own[0] for measure, own in found.items() if judged[measure].comparable}
        measured += [
            _Measured(_outcome(name, measure, judged[measure], own, _against(measure, compared, plan)), own[0])
            for measure, own in found.items()
        ]
    return Evaluation(
        about=scorer.about(),
        settings={name: value for name, value in asdict(plan).items() if value is not None},
        outcomes=[each.outcome for each in measured],
        averages=list(_averages(measured, plan)),
    )


def _outcome(
    name: str, measure: str, judged: Judged, intervals: Sequence[Interval], against: Difference | None
) -> Outcome:
    return Outcome(
        set=name,
        kind=judged.kind,
        n=judged.n,
        measure=measure,
        figures=tuple(_figure(q.name, interval) for q, interval in zip(judged.quantities, intervals, strict=True)),
        parts=judged.parts,
        against=against,
    )


def interval_of(quantity: Quantity, plan: Plan) -> Interval:
    """The BCa interval of a quantity."""
    return _combined(quantity, [_drawn(each, plan) for each in quantity.samples], plan)


def _intervals(judged: Judged, plan: Plan) -> list[Interval]:
    """The interval of each quantity; samples that several of them have in common are drawn once."""
    samples = dict.fromkeys(sample for quantity in judged.quantities for sample in quantity.samples)
    drawn = {sample: _drawn(sample, plan) for sample in samples}
    return [_combined(each, [drawn[sample] for sample in each.samples], plan) for each in judged.quantities]


def _drawn(sample: Sample, plan: Plan) -> Interval:
    return bca(sample.statistic, sample.n, plan.draws, plan.seed, plan.level)


def _combined(quantity: Quantity, intervals: Sequence[Interval], plan: Plan) -> Interval:
    return intervals[0] if len(intervals) == 1 else bca_mean(intervals, quantity.shares, plan.seed)


def _averages(measured: Sequence[_Measured], plan: Plan) -> Iterator[Outcome]:
    """The mean over the seven STS sets, for every measure that all of them were put to."""
    known = {(each.outcome.measure, each.outcome.set): each for each in measured}
    measures = list(dict.fromkeys(each.outcome.measure for each in measured))
    seven = {name: [known[name, each] for each in SEVEN if (name, each) in known] for name in measures}
    means = {
        name: bca_mean([each.interval for each in own], seed=plan.seed)
        for name, own in seven.items()
        if len(own) == len(SEVEN)
    }
    for measure, mean in means.items():
        yield Outcome(
            set=AVERAGE,
            kind=seven[measure][0].outcome.kind,
            n=sum(each.outcome.n for each in seven[measure]),
            measure=measure,
            figures=(_figure("spearman", mean),),
            against=_against(measure, means, plan),
        )


def _figure(name: str, interval: Interval) -> Figure:
    return Figure(name, interval.estimate, interval.low, interval.high)


def _against(measure: str, intervals: Mapping[str, Interval], plan: Plan) -> Difference | None:
    """How a measure differs from the baseline, where that is another and known."""
    baseline = plan.baseline
    if baseline is None or baseline == measure or not {measure, baseline} <= intervals.keys():
        return None
    found = difference(intervals[measure], intervals[baseline])
    return Difference(baseline, found.estimate, found.low, found.high, found.significant)
