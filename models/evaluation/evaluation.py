"""One evaluation: tasks, measures, and what came out, with intervals and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from semblance.models.evaluation.metrics import judge
from semblance.models.evaluation.outcomes import Difference, Evaluation, Figure, Outcome
from semblance.models.evaluation.scorer import Scorer
from semblance.models.evaluation.statistics.bootstrap import Interval, Resampling, bca, bca_mean, difference
from semblance.models.evaluation.statistics.quantities import Judged, Quantity
from semblance.models.evaluation.tasks import Task

SEVEN = ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr")  # whose plain mean the papers report
AVERAGE = "sts_avg"


@dataclass(frozen=True, slots=True)
class _Measured:
    """An outcome, the interval behind its first figure, and the one that this is compared with, if any."""

    outcome: Outcome
    interval: Interval
    rival: Interval | None


def evaluate(
    tasks: Mapping[str, Task],
    scorer: Scorer,
    measures: Sequence[str],
    resampling: Resampling,
    baseline: str | Scorer | None = None,
) -> Evaluation:
    """Put every task to every measure. Where all seven STS sets are among them, their mean stands last.

    Args:
        tasks: by name.
        scorer: what gives the scores.
        measures: by name; those that a task cannot be put to have no outcome there.
        resampling: how intervals are made.
        baseline: what figures are compared with, if anything, on the same resamples: the measure of that name, or each
            measure with itself by another model.
    """
    compared_with = baseline if baseline is None or isinstance(baseline, str) else baseline.about()["model"]
    measured: list[_Measured] = []
    for name, task in scorer.track(list(tasks.items()), "sets"):
        judged = judge(task, scorer, measures)
        found = {each: _intervals(judged[each], resampling) for each in scorer.track(list(judged), f"{name} intervals")}
        if baseline is None or isinstance(baseline, str):
            rivals = _rivals(judged, found, baseline)
        else:
            others = judge(task, baseline, measures)
            rivals = {measure: _intervals(each, resampling) for measure, each in others.items()}
        for measure, own in found.items():
            rival = rivals.get(measure, [])
            against = [_against(one, other, compared_with) for one, other in zip(own, rival, strict=False)]
            outcome = _outcome(name, measure, judged[measure], own, against)
            measured.append(_Measured(outcome, own[0], rival[0] if rival else None))
    return Evaluation(
        about=scorer.about(),
        settings=asdict(resampling) | ({} if compared_with is None else {"baseline": compared_with}),
        outcomes=[*(each.outcome for each in measured), *_averages(measured, compared_with)],
    )


def _rivals(
    judged: Mapping[str, Judged], found: Mapping[str, Sequence[Interval]], baseline: str | None
) -> dict[str, Sequence[Interval]]:
    """The intervals of the baseline, for every other measure that is on one scale with it."""
    if baseline is None or baseline not in found or not judged[baseline].comparable:
        return {}
    others = [measure for measure in found if measure != baseline and judged[measure].comparable]
    return dict.fromkeys(others, found[baseline])


def _outcome(
    name: str, measure: str, judged: Judged, intervals: Sequence[Interval], against: Sequence[Difference | None]
) -> Outcome:
    names = [each.name for each in judged.quantities]
    differences = {figure: each for figure, each in zip(names, against, strict=False) if each is not None}
    return Outcome(
        set=name,
        kind=judged.kind,
        n=judged.n,
        measure=measure,
        figures=tuple(_figure(q.name, interval) for q, interval in zip(judged.quantities, intervals, strict=True)),
        parts=judged.parts,
        against=differences.get(names[0]),
        further_against={figure: each for figure, each in differences.items() if figure != names[0]},
        comparable=judged.comparable,
        groups=judged.groups,
    )


def interval_of(quantity: Quantity, resampling: Resampling) -> Interval:
    """The BCa interval of a quantity."""
    return _combined(quantity, [bca(each.statistic, each.n, resampling) for each in quantity.samples])


def _intervals(judged: Judged, resampling: Resampling) -> list[Interval]:
    """The interval of each quantity; samples that several of them have in common are drawn once."""
    samples = dict.fromkeys(sample for quantity in judged.quantities for sample in quantity.samples)
    drawn = {sample: bca(sample.statistic, sample.n, resampling) for sample in samples}
    return [_combined(each, [drawn[sample] for sample in each.samples]) for each in judged.quantities]


def _combined(quantity: Quantity, intervals: Sequence[Interval]) -> Interval:
    return intervals[0] if len(intervals) == 1 else bca_mean(intervals, quantity.shares)


def _averages(measured: Sequence[_Measured], baseline: str | None) -> Iterator[Outcome]:
    """The mean over the seven STS sets, for every measure that all of them were put to."""
    for measure in dict.fromkeys(each.outcome.measure for each in measured):
        known = {each.outcome.set: each for each in measured if each.outcome.measure == measure}
        if not known.keys() >= set(SEVEN):
            continue
        seven = [known[name] for name in SEVEN]
        rivals = [each.rival for each in seven if each.rival is not None]
        mean = bca_mean([each.interval for each in seven])
        yield Outcome(
            set=AVERAGE,
            kind=seven[0].outcome.kind,
            n=sum(each.outcome.n for each in seven),
            measure=measure,
            figures=(_figure("spearman", mean),),
            against=_against(mean, bca_mean(rivals) if len(rivals) == len(seven) else None, baseline),
        )


def _figure(name: str, interval: Interval) -> Figure:
    return Figure(name, interval.estimate, interval.low, interval.high)


def _against(own: Interval, rival: Interval | None, baseline: str | None) -> Difference | None:
    """How a figure differs from the one that it is compared with, if any."""
    if rival is None or baseline is None:
        return None
    found = difference(own, rival)
    return Difference(baseline, found.estimate, found.low, found.high, found.significant)
