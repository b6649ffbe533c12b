"""`semblance evaluate --calibrate`: thresholds, and the reliability of probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from rich.console import Console

from semblance.models.judgments.pairs import LabeledPairs, labeled, pair_digests
from semblance.models.judgments.reliability import MapReliability, Scored, reliability_of_maps
from semblance.service.cli.toolbox.console import loop_bars, print_line, print_table
from semblance.service.cli.toolbox.outputs import save_json
from semblance.service.model_loading.calibrations import CalibrationFile, read_calibration
from semblance.service.settings import read_settings
from semblance_lab.cli.evaluate.options import EvaluationOptions
from semblance_lab.evaluation.reporting.tables import curve, reliability_json, reliability_table, threshold_table
from semblance_lab.evaluation.scorer import Scorer
from semblance_lab.evaluation.statistics import ThresholdCurve, threshold_curve

Thresholds: TypeAlias = Mapping[str, Mapping[str, ThresholdCurve]]
"""Measure -> set -> precision and recall by threshold."""

Maps: TypeAlias = Mapping[str, Sequence[MapReliability]]
"""Measure -> the reliability of its maps on every set."""

Scores: TypeAlias = dict[str, dict[str, Scored]]
"""Measure -> set -> scores and labels."""

Digests: TypeAlias = Mapping[str, Sequence[str]]
"""Set -> digests of its pairs."""


def print_reliability(options: EvaluationOptions) -> None:
    """Print precision and recall by threshold, and the calibration errors of maps.

    The map fitted to each set is tested on every set.

    Raises:
        SemblanceError, ServiceError: as `semblance evaluate`; and a set without labels of pairs.
    """
    console = Console(stderr=True)
    with loop_bars(console) as track, options.scorer(track) as scorer:
        sets = {name: labeled(name, task, options.same_from) for name, task in options.tasks().items()}
        scores, about = _scores(options.measures, sets, scorer), scorer.about()
    home, digests = read_settings().home.expanduser(), {name: pair_digests(each) for name, each in sets.items()}
    thresholds = {
        measure: {name: threshold_curve(*each) for name, each in scored.items()} for measure, scored in scores.items()
    }
    maps, seen = {}, list[str]()
    for measure, scored in scores.items():
        own = None if options.url else read_calibration(home, about["space"], measure)  # a service has maps of its own
        stored = {} if own is None else {f"{own.data} (stored)": own.calibration().probability}
        maps[measure] = list(reliability_of_maps(scored, options.resampling, stored))
        if own is not None:
            seen += _seen(own, maps[measure], digests)
    _print(thresholds, maps)
    for line in seen:
        print_line(console, line)
    if options.json:
        save_json(_json(thresholds, maps), options.json)
    if options.report:
        from semblance_lab.evaluation.reporting.report import write_diagrams  # noqa: PLC0415 - imports matplotlib, which few runs need

        console.print(f"report: {write_diagrams(about['model'], maps, options.report)}", markup=False)


def _seen(stored: CalibrationFile, tested: Sequence[MapReliability], digests: Digests) -> Iterator[str]:
    """Lines about sets with pairs of the stored map, unless cross-fitting tested it."""
    fitted = set(stored.pair_digests)
    for each in tested[-len(digests) :]:  # those of the stored map come last
        pairs = digests[each.tested_on]
        if (known := sum(pair in fitted for pair in pairs)) and not each.cross_fitted:
            yield (
                f"{stored.measure}: {known:,} of the {len(pairs):,} pairs of {each.tested_on} are among those that "
                f"{each.fitted_to} was fitted to: its calibration error on them is too low"
            )


def _scores(measures: Sequence[str], sets: Mapping[str, LabeledPairs], scorer: Scorer) -> Scores:
    found: Scores = {measure: {} for measure in measures}
    for name, pairs in sets.items():
        matches = np.asarray(pairs.matches, np.bool_)
        for measure, scores in scorer.scores(measures, pairs.left, pairs.right).items():
            found[measure][name] = scores, matches
    return found


def _print(thresholds: Thresholds, maps: Maps) -> None:
    for measure, by_set in thresholds.items():
        for name, each in by_set.items():
            print_table(threshold_table(f"{name}, {measure}", each))
    for measure, tested in maps.items():
        print_table(reliability_table(measure, tested))


def _json(thresholds: Thresholds, maps: Maps) -> dict[str, object]:
    return {
        "thresholds": {
            measure: {name: curve(each) for name, each in sets.items()} for measure, sets in thresholds.items()
        },
        "reliability": {measure: [reliability_json(each) for each in tested] for measure, tested in maps.items()},
    }
