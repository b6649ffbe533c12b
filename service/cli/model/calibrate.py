"""`semblance calibrate`: fit probabilities, or a bound on false hits, to labeled pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from semblance.models.catalogue import similarity
from semblance.models.embeddings import Doubles
from semblance.models.errors import BadDataSet, SemblanceError
from semblance.models.judgments.bootstrap import Resampling
from semblance.models.judgments.centered_isotonic import centered_isotonic
from semblance.models.judgments.pair_scorer import PairScorer
from semblance.models.judgments.pairs import GradedPairs, LabeledPairs, labeled, pair_digests
from semblance.models.judgments.reliability import Reliability, Scored, cross_fitted, error_cell, reliability
from semblance.models.judgments.user_tables import PAIR_LAYOUTS, read_user_data, renamed_columns
from semblance.models.protocols import Encoder
from semblance.models.text import Booleans
from semblance.service.cli.model.calibrate_same import fit_bound
from semblance.service.cli.toolbox.console import TextTable, loop_bars, print_line, print_table
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.lab import lab_module
from semblance.service.cli.toolbox.options import Columns, Data, SameFrom, require_entries
from semblance.service.model_loading.calibrations import CalibrationFile, ReliabilityBin, save_calibration
from semblance.service.model_loading.classifiers import save_bound
from semblance.service.model_loading.device import load_model
from semblance.service.settings import read_settings

MEASURES = "cosine,rcmd,rcmd_words,rcmd1_words"
MIN_PAIRS = 100
MIN_OF_A_LABEL = 10


def calibrate(  # noqa: PLR0913 - one parameter an option
    pairs: Annotated[
        str,
        typer.Argument(help="Labeled pairs: labels:FILE, pairs:FILE with --same-from, or the name of a benchmark."),
    ],
    *,
    model: Annotated[
        str | None,
        typer.Option(
            help="Model, as for `semblance serve` or only its source.",
            show_default="the first of SEMBLANCE_MODELS, or the default of the service",
        ),
    ] = None,
    measure: Annotated[list[str], typer.Option(help="Measures, comma-separated.")] = [MEASURES],  # noqa: B006 - Typer copies it
    same: Annotated[
        bool, typer.Option("--same", help="Fit the cut of POST /same that keeps false hits below a bound.")
    ] = False,
    allowed: Annotated[
        float,
        typer.Option(
            min=0.0001, max=0.5, help="With --same: largest share of different pairs that are taken for the same."
        ),
    ] = 0.01,
    name: Annotated[
        str | None,
        typer.Option(help="Name of the data, shown beside each probability.", show_default="of the file or benchmark"),
    ] = None,
    same_from: SameFrom = None,
    columns: Columns = [],  # noqa: B006
    data: Data = None,
    home: Annotated[
        Path | None, typer.Option(help="Home folder of the service.", show_default="~/.semblance", file_okay=False)
    ] = None,
) -> None:
    """Fit the probability that people call a pair the same.

    A table of labeled pairs has the columns sentence1, sentence2 and label (1 or true for the same, 0 or false
    otherwise). For each measure, the map from scores to probabilities is kept in the home folder, for this model only;
    the service reads it at its next start, and gives a probability beside each score. The calibration error is computed
    on pairs that the map was not fitted to. It holds for texts of the same kind only: fit to pairs of yours. Both texts
    are encoded as queries; for models that encode documents differently, it does not hold for search.

    With --same, the log-odds of POST /same get a cut instead: with 95 % confidence, at most a share --allowed of the
    pairs that differ are taken for the same. A bound of 0.01 needs 299 pairs that differ.

    \b
    Examples:
      semblance calibrate labels:pairs.csv --name "support questions"
      semblance calibrate pairs:graded.tsv --same-from 4 --measure rcmd_words
      semblance calibrate qqp_dev --model minilm
      semblance calibrate labels:pairs.csv --same --allowed 0.01
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    measures, settings = require_entries(measure, "--measure"), read_settings(home=home)
    with exit_on(SemblanceError, OSError, ValueError):
        for each in measures:
            similarity(each)  # an unknown name fails before any work is done
        found = _labeled_pairs(pairs, _read(pairs, data, columns), same_from)
        shown = name or Path(pairs.partition(":")[2] or pairs).stem
        encoder, folder = load_model(model, settings), settings.home.expanduser()
        if same:
            kept = [save_bound(folder, fit_bound(encoder, found, shown, allowed))]
        else:
            fitted = _fit_all(encoder, measures, found, shown)
            kept = [save_calibration(folder, each) for each in fitted]
            header = ("measure", "pairs", "matches", "calibration error", "Brier score")
            print_table(TextTable(f"{encoder.name}, fitted to {shown}", header, tuple(_rows(fitted))))
    print_line(Console(), f"kept in {kept[0].parent}; restart the service to use them")


def _read(name: str, data: Path | None, columns: Sequence[str]) -> GradedPairs | LabeledPairs:
    kind, colon, path = name.partition(":")
    if colon:
        return read_user_data(PAIR_LAYOUTS, kind, Path(path), renamed_columns(PAIR_LAYOUTS, columns, [name]))
    task: GradedPairs | LabeledPairs = lab_module("cli.evaluate.data_sets").read_task(name, data)
    return task


def _labeled_pairs(name: str, task: GradedPairs | LabeledPairs, same_from: float | None) -> LabeledPairs:
    """The pairs with labels, made from grades by `same_from`.

    Raises:
        BadDataSet: there are too few pairs, or too few of a label; or `same_from` is missing, or not needed.
    """
    if isinstance(task, LabeledPairs) and same_from is not None:
        raise BadDataSet(f"{name} has labels instead of grades: leave out --same-from")
    pairs = labeled(name, task, same_from)
    total, matches = len(pairs.matches), sum(pairs.matches)
    if total < MIN_PAIRS or min(matches, total - matches) < MIN_OF_A_LABEL:
        raise BadDataSet(
            f"{name} has {total:,} pairs, {matches:,} of which match: a calibration needs {MIN_PAIRS} pairs or more, "
            f"with {MIN_OF_A_LABEL} that match and {MIN_OF_A_LABEL} that do not"
        )
    return pairs


def _fit_all(encoder: Encoder, measures: Sequence[str], pairs: LabeledPairs, data: str) -> list[CalibrationFile]:
    with loop_bars(Console(stderr=True)) as track:
        scores = PairScorer(encoder, track).scores(measures, pairs.left, pairs.right)
    matches = np.asarray(pairs.matches, np.bool_)
    digests = pair_digests(pairs)
    return [_fit(encoder, each, data, (scores[each], matches), digests) for each in measures]


def _fit(encoder: Encoder, measure: str, data: str, scored: Scored, digests: list[str]) -> CalibrationFile:
    scores, matches = scored
    fitted, found = centered_isotonic(scores, matches), _held_out_reliability(scores, matches)
    bins = zip(found.predicted.tolist(), found.observed.tolist(), found.pairs, strict=True)
    return CalibrationFile(
        model=encoder.name,
        space=encoder.space,
        measure=measure,
        data=data,
        pairs=len(matches),
        matches=int(matches.sum()),
        error=found.error,
        error_interval=found.interval,
        brier=found.brier,
        reliability=[ReliabilityBin(predicted=p, observed=share, pairs=pairs) for p, share, pairs in bins],
        pair_digests=digests,
        scores=fitted.scores.tolist(),
        probabilities=fitted.probabilities.tolist(),
    )


def _held_out_reliability(scores: Doubles, matches: Booleans) -> Reliability:
    probabilities, halves = cross_fitted(scores, matches)
    return reliability(probabilities, matches, Resampling(), halves)


def _rows(fitted: Sequence[CalibrationFile]) -> Iterator[tuple[str, ...]]:
    for each in fitted:
        error = error_cell(each.error, each.error_interval)
        yield each.measure, f"{each.pairs:,}", f"{each.matches:,}", error, f"{each.brier:.4f}"
