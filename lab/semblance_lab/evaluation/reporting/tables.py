"""Text tables of an evaluation, for a terminal or a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from semblance.models.judgments.reliability import MapReliability, error_cell
from semblance.service.cli.toolbox.console import TextTable
from semblance_lab.evaluation.results import PANEL_MEAN, Difference, Evaluation, Figure, MeasureOutcome
from semblance_lab.evaluation.statistics import ThresholdCurve
from semblance_lab.evaluation.typical_scores import TypicalScores

MARK = "*"  # marks a significant difference to the baseline
PRECISE = 0.95  # precision whose lowest threshold is marked


def tables(evaluation: Evaluation) -> Iterator[TextTable]:
    """Tables of main figures, then of differences, further figures and subtasks; all times 100.

    The sets of the panel have one table, with their main figures only.
    """
    of_panel = {*evaluation.panel, PANEL_MEAN}
    if evaluation.panel:
        yield _panel_table(evaluation, [each for each in evaluation.outcomes if each.set in of_panel])
    yield from _set_tables(evaluation, [outcome for outcome in evaluation.outcomes if outcome.set not in of_panel])


def _set_tables(evaluation: Evaluation, outcomes: Sequence[MeasureOutcome]) -> Iterator[TextTable]:
    measures = list(dict.fromkeys(outcome.measure for outcome in outcomes))
    if outcomes:
        yield TextTable(_title(evaluation), ("set", "n", "figure", *measures), tuple(_main_rows(outcomes, measures)))
    if rows := list(_difference_rows(outcomes, measures)):
        title = f"Differences to {evaluation.settings['baseline']}, times 100, with their intervals"
        yield TextTable(title, ("set", "figure", *measures), tuple(rows))
    if rows := list(_further_rows(outcomes, measures)):
        yield TextTable("Further figures, times 100", ("set", "figure", *measures), tuple(rows))
    if rows := list(_part_rows(outcomes, measures)):
        yield TextTable("Parts of the sets, times 100", ("set", "part", "n", "figure", *measures), tuple(rows))


def _panel_table(evaluation: Evaluation, outcomes: Sequence[MeasureOutcome]) -> TextTable:
    """The main figures of the panel with their differences, and the mean last."""
    measures = list(dict.fromkeys(outcome.measure for outcome in outcomes))
    compared = [measure for measure in measures if any(each.against for each in outcomes if each.measure == measure)]
    columns = [f"{measure} - {evaluation.settings['baseline']}" for measure in compared]
    rows = tuple(
        (*row, *(_difference(own[measure].against if measure in own else None) for measure in compared))
        for row, (_, own) in zip(_main_rows(outcomes, measures), _by_set(outcomes), strict=True)
    )
    return TextTable(f"Panel: {_title(evaluation)}", ("set", "n", "figure", *measures, *columns), rows)


def typical_table(model: str, scores: Iterable[TypicalScores]) -> TextTable:
    """A row for each measure, with the range of the scores of each kind of pair."""
    rows = tuple(
        (score.measure, *(f"{low:.2f} to {high:.2f}" for low, high in (score.random, score.related, score.paraphrases)))
        for score in scores
    )
    return TextTable(f"{model}: the middle 80 % of scores", ("measure", "random", "related", "paraphrases"), rows)


def threshold_table(name: str, thresholds: ThresholdCurve) -> TextTable:
    """Thresholds about a tenth of the recall apart, of the best F1, and of precision 95."""
    taken, matching = thresholds.taken, thresholds.matching
    marks = {thresholds.best: " best F1"}
    if (precise := np.flatnonzero(thresholds.precision >= PRECISE)).size:
        lowest = int(precise[-1])
        marks[lowest] = f"{marks.get(lowest, '')} lowest with precision {100 * PRECISE:.0f}"
    shown = sorted(
        {
            *np.searchsorted(thresholds.recall, np.arange(1, 10) / 10).tolist(),
            *marks,
            len(thresholds.recall) - 1,
        }
    )
    rows = tuple(
        (
            f"{thresholds.thresholds[i]:.4f}{marks.get(i, '')}",
            *(_share(matching[i], whole) for whole in (taken[i], matching[-1])),
            f"{100 * thresholds.f1[i]:.1f}",
        )
        for i in shown
    )
    return TextTable(f"{name}: what a threshold gives, times 100", ("threshold", "precision", "recall", "F1"), rows)


def _share(part: float, whole: float) -> str:
    """A share of pairs in percent, with the exact 95 % interval of Clopper and Pearson.

    A bootstrap would say of nine pairs that all match that others surely match, too.

    >>> _share(9, 9), _share(0, 0)
    ('100.0 [66.4, 100.0]', '0.0')
    """
    from scipy.stats import binomtest  # noqa: PLC0415 - slow to import, and --help does not need it

    if not whole:
        return "0.0"
    low, high = binomtest(round(part), round(whole)).proportion_ci()
    return f"{100 * part / whole:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def reliability_table(measure: str, tested: Sequence[MapReliability]) -> TextTable:
    """The calibration error of each map on each set, a row for the set that it was fitted to."""
    sets = list(dict.fromkeys(each.tested_on for each in tested))
    errors = {
        (each.fitted_to, each.tested_on): error_cell(each.reliability.error, each.reliability.interval)
        for each in tested
    }
    rows = tuple(
        (fitted_to, *(errors[fitted_to, name] for name in sets))
        for fitted_to in dict.fromkeys(each.fitted_to for each in tested)
    )
    header = tuple(f"{name} (n = {_pairs(tested, name):,})" for name in sets)
    return TextTable(f"{measure}: calibration error, on its own set by cross-fitting", ("fitted to", *header), rows)


def _pairs(tested: Sequence[MapReliability], name: str) -> int:
    return sum(next(each.reliability.pairs for each in tested if each.tested_on == name))


def reliability_json(tested: MapReliability) -> dict[str, object]:
    """The reliability of a map on a set, as written to JSON."""
    found = tested.reliability
    return {
        "fitted_to": tested.fitted_to,
        "tested_on": tested.tested_on,
        "error": found.error,
        "error_interval": list(found.interval),
        "brier": found.brier,
        "predicted": found.predicted.tolist(),
        "observed": found.observed.tolist(),
        "pairs": list(found.pairs),
    }


def curve(thresholds: ThresholdCurve) -> dict[str, list[float]]:
    """Precision and recall at every score, as written to JSON."""
    return {
        "threshold": thresholds.thresholds.tolist(),
        "precision": thresholds.precision.tolist(),
        "recall": thresholds.recall.tolist(),
        "f1": thresholds.f1.tolist(),
    }


def _title(evaluation: Evaluation) -> str:
    level, baseline = float(evaluation.settings["level"]), evaluation.settings.get("baseline")
    compared = f"; {MARK} differs from {baseline}" if any(outcome.against for outcome in evaluation.outcomes) else ""
    return f"{evaluation.about['model']}, times 100, with {level:.0%} BCa intervals{compared}"


def _by_set(outcomes: Sequence[MeasureOutcome]) -> Iterator[tuple[MeasureOutcome, dict[str, MeasureOutcome]]]:
    """The first outcome of each set, and all outcomes of the set by measure."""
    for name in dict.fromkeys(outcome.set for outcome in outcomes):
        own = {each.measure: each for each in outcomes if each.set == name}
        yield next(iter(own.values())), own


def _main_rows(outcomes: Sequence[MeasureOutcome], measures: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for first, own in _by_set(outcomes):
        cells = [_interval(own[m].figures[0], own[m].against) if m in own else "-" for m in measures]
        groups = "" if first.groups is None else f" in {first.groups:,} groups"
        yield first.set, f"{first.n:,}{groups}", first.figures[0].name, *cells


def _difference_rows(outcomes: Sequence[MeasureOutcome], measures: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for first, own in _by_set(outcomes):
        for figure in first.figures:
            differences = {m: each.difference(figure.name) for m, each in own.items()}
            if any(differences.values()):
                yield first.set, figure.name, *(_difference(differences.get(m)) for m in measures)


def _difference(against: Difference | None) -> str:
    if against is None:
        return "-"
    mark = MARK if against.significant else ""
    return f"{100 * against.value:+.2f}{mark} [{100 * against.low:+.2f}, {100 * against.high:+.2f}]"


def _further_rows(outcomes: Sequence[MeasureOutcome], measures: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for first, own in _by_set(outcomes):
        for figure in first.figures[1:]:
            cells = [f"{100 * own[m].figure(figure.name).value:.2f}" if m in own else "-" for m in measures]
            yield first.set, figure.name, *cells


def _part_rows(outcomes: Sequence[MeasureOutcome], measures: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for first, own in _by_set(outcomes):
        for name, part in first.parts.items():
            for figure in part.figures:
                cells = [f"{100 * own[m].parts[name].figures[figure]:.2f}" if m in own else "-" for m in measures]
                yield first.set, name, f"{part.n:,}", figure, *cells


def _interval(figure: Figure, against: Difference | None) -> str:
    mark = MARK if against is not None and against.significant else ""
    return f"{100 * figure.value:.2f}{mark} [{100 * figure.low:.1f}, {100 * figure.high:.1f}]"
