"""Results of an evaluation: figures with intervals by measure and set, and the panel.

`semblance evaluate --json` writes `asdict` of an `Evaluation`: the names of the fields are part of that format. The
panel has sets of many domains, so that a model is not chosen by one kind of text; it contains no pair of the STS, SICK
and iSTS test sets, which report what a chosen model can do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from semblance.models.judgments.counts import Metric


@dataclass(frozen=True, slots=True)
class Figure:
    """The value of a metric such as `spearman`, and its BCa interval; all between -1 and 1."""

    name: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """Improvement of a figure over the baseline, on the same resamples.

    The baseline is another measure, or the same measure of another model. `significant`: the interval excludes 0.
    """

    baseline: str
    value: float
    low: float
    high: float
    significant: bool


@dataclass(frozen=True, slots=True)
class PartFigures:
    """Figures by name, without intervals, of n items of a set: a subtask of a SemEval year."""

    n: int
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TaskMetrics:
    """Metrics of one measure on a task, the main metric first, and figures of parts of the set.

    `kind` names the type of task. `comparable`: the metrics of two measures are on one scale. `groups` is the number of
    groups in which the n items are resampled, None if they are resampled one by one.
    """

    kind: str
    n: int
    metrics: tuple[Metric, ...]
    parts: Mapping[str, PartFigures] = field(default_factory=dict)
    comparable: bool = True
    groups: int | None = None


@dataclass(frozen=True, slots=True)
class MeasureOutcome:
    """Figures of one measure on one set of n items; the first is the main figure.

    `against` is its difference to the baseline, `further_against` those of the other figures by name. `kind`,
    `comparable` and `groups` are as in `TaskMetrics`: items are grouped where they depend on each other.
    """

    set: str
    kind: str
    n: int
    measure: str
    figures: tuple[Figure, ...]
    parts: Mapping[str, PartFigures] = field(default_factory=dict)
    against: Difference | None = None
    further_against: Mapping[str, Difference] = field(default_factory=dict)
    comparable: bool = True
    groups: int | None = None

    def difference(self, name: str) -> Difference | None:
        """The difference of the named figure to the baseline, if there is one."""
        return self.against if name == self.figures[0].name else self.further_against.get(name)

    def figure(self, name: str) -> Figure:
        """The named figure. Raises KeyError: there is none."""
        return {each.name: each for each in self.figures}[name]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All outcomes of an evaluation, the model and the settings; averages over sets come last.

    `panel` names the sets of the panel in the order of its table; empty unless all of them were evaluated.
    """

    about: Mapping[str, str]
    settings: Mapping[str, int | float | str]
    outcomes: Sequence[MeasureOutcome]
    panel: Sequence[str] = ()


PANEL = (
    "stsb_dev_panel",
    "sickr_trial_panel",
    "cxc_val_panel",
    "ists_train_panel",
    "edinburgh_train_panel",
    "msr_rte",
    "pit_dev",
    "turl_train_panel",
    "qqp_dev_panel",
    "msrp_train_panel",
    "argkp_dev",
    "nfcorpus_dev",
    "cranfield",
    "cisi",
    "medline",
    "wikiqa_dev",
)
PANEL_MEAN = "panel_mean"


def panel_order(outcomes: Sequence[MeasureOutcome]) -> list[str]:
    """Names of the panel's sets among the outcomes, in the order of the panel's table.

    Where every figure is compared with that of another model, the set with the worst difference of any measure comes
    first; otherwise the sets are in the order of their kinds and names.
    """
    by_set = {name: [outcome for outcome in outcomes if outcome.set == name] for name in PANEL}
    present = {name: each for name, each in by_set.items() if each}
    if all(each.against is not None for of_set in present.values() for each in of_set):
        return sorted(present, key=lambda name: _worst(present[name]))
    return sorted(present, key=lambda name: (present[name][0].kind, name))


def _worst(outcomes: Sequence[MeasureOutcome]) -> float:
    return min(outcome.against.value for outcome in outcomes if outcome.against is not None)
