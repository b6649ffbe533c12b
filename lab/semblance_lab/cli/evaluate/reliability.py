"""`semblance evaluate --calibrate`: thresholds, and the reliability of probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from rich.console import Console

from semblance.models.judgments.pairs import labeled
from semblance.models.judgments.reliability import MapReliability, Scored, reliability_of_maps
from semblance.service.cli.toolbox.console import loop_bars, print_table
from semblance.service.cli.toolbox.outputs import save_json
from semblance.service.model_loading.calibrations import read_calibrations
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


def print_reliability(options: EvaluationOptions) -> None:
    """Print precision and recall by threshold, and the calibration errors of maps.

    The map fitted to each set is tested on every set.

    Raises:
        SemblanceError, ServiceError: as `semblance evaluate`; and a set without labels of pairs.
    """
    console = Console(stderr=True)
    with loop_bars(console) as track, options.scorer(track) as scorer:
        scores, about = _scores(options, scorer), scorer.about()
    home = read_settings().home.expanduser()
    calibrations = {} if options.url else read_calibrations(home, {about["space"]})  # a service has maps of its own
    thresholds = {
        measure: {name: threshold_curve(*each) for name, each in sets.items()} for measure, sets in scores.items()
    }
    maps = {}
    for measure, sets in scores.items():
        own = calibrations.get((about["space"], measure))
        stored = {} if own is None else {f"{own.summary.data} (stored)": own.probability}
        maps[measure] = list(reliability_of_maps(sets, options.resampling, stored))
    _print(thresholds, maps)
    if options.json:
        save_json(_json(thresholds, maps), options.json)
    if options.report:
        from semblance_lab.evaluation.reporting.report import write_diagrams  # noqa: PLC0415 - imports matplotlib, which few runs need

        console.print(f"report: {write_diagrams(about['model'], maps, options.report)}", markup=False)


def _scores(options: EvaluationOptions, scorer: Scorer) -> Scores:
    found: Scores = {measure: {} for measure in options.measures}
    for name, task in options.tasks().items():
        pairs = labeled(name, task, options.same_from)
        matches = np.asarray(pairs.matches, np.bool_)
        for measure, scores in scorer.scores(options.measures, pairs.left, pairs.right).items():
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
