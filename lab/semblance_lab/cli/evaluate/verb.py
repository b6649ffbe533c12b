"""`semblance evaluate`: agreement of scores and explanations with human judgments."""

from __future__ import annotations

from pathlib import Path

import typer
from semblance_client import SemblanceError as ServiceError

from semblance.models.errors import SemblanceError
from semblance.models.judgments.bootstrap import Resampling
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import (
    Columns,
    Data,
    JsonFile,
    ReportFolder,
    Resamples,
    SameFrom,
    require_entries,
)
from semblance_lab.cli.evaluate.claims import print_claims
from semblance_lab.cli.evaluate.figures import print_conditions, print_evaluation, print_typical_scores
from semblance_lab.cli.evaluate.options import (
    Against,
    Calibrate,
    Conditions,
    Deletion,
    EvaluationOptions,
    Measures,
    Model,
    Reproduce,
    ResamplingSeed,
    ServiceUrl,
    Sets,
    Typical,
)
from semblance_lab.cli.evaluate.reliability import print_reliability

SETS = "sts12,sts13,sts14,sts15,sts16,stsb,sickr,ists_images"
DEFAULT_MEASURES = "cosine,rcmd,dynamax_jaccard"


def evaluate(  # noqa: PLR0913 - one parameter an option
    *,
    model: Model = None,
    against: Against = None,
    measure: Measures = [DEFAULT_MEASURES],  # noqa: B006 - Typer copies it
    sets: Sets = [SETS],  # noqa: B006
    columns: Columns = [],  # noqa: B006
    data: Data = None,
    url: ServiceUrl = None,
    json: JsonFile = None,
    report: ReportFolder = None,
    reproduce: Reproduce = None,
    calibrate: Calibrate = False,
    same_from: SameFrom = None,
    conditions: Conditions = False,
    typical: Typical = False,
    deletion: Deletion = False,
    draws: Resamples = 2_000,
    seed: ResamplingSeed = 1111,
) -> None:
    """Measure how well scores agree with human judgments.

    Prints figures with BCa bootstrap intervals, for scores and explanations. Default sets: the seven STS sets and the
    images of interpretable STS. Kinds of your own files: pairs, labels, triplets, ranking, retrieval, ists. The first
    three are tables in CSV, TSV or JSONL, whose columns --columns can name; docs/measures.md lists these, all sets and
    where to get each.

    \b
    Examples:
      semblance evaluate --sets stsb
      semblance evaluate --model minilm
      semblance evaluate --model runs/mine --against minilm --measure cosine,rcmd
      semblance evaluate --sets panel --model runs/mine --against minilm --measure cosine,rcmd
      semblance evaluate --measure cosine,rcmd,cmd --sets stsb,ists_images --report out
      semblance evaluate --url http://127.0.0.1:8000 --sets cranfield --measure cosine,rcmd1
      semblance evaluate --url http://127.0.0.1:8000 --sets cisi --measure cosine,lexical:cosine,hybrid:rcmd1
      semblance evaluate --sets pairs:mine.tsv --json mine.json
      semblance evaluate --sets labels:mine.csv --columns sentence1=question,sentence2=other,label=same
      semblance evaluate --reproduce clrcmd
      semblance evaluate --calibrate --sets turl_train --measure cosine,rcmd
      semblance evaluate --calibrate --sets qqp_dev,pit_dev --same-from 4 --measure rcmd_words --report out
      semblance evaluate --typical --model runs/mine --measure cosine,rcmd_words
      semblance evaluate --conditions --model minilm
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    _require_consistent(against, report, reproduce, calibrate=calibrate)
    measures, names = require_entries(measure, "--measure"), require_entries(sets, "--sets")
    options = EvaluationOptions(
        model, url, measures, names, columns, data, Resampling(draws, seed), json, report, deletion, against, same_from
    )
    with exit_on(SemblanceError, ServiceError):
        if conditions:
            raise SystemExit(0 if all(condition.holds for condition in print_conditions(options)) else 1)
        if reproduce is not None:
            print_claims(reproduce, options)
        elif calibrate:
            print_reliability(options)
        elif typical:
            print_typical_scores(options)
        else:
            print_evaluation(options)


def _require_consistent(against: str | None, report: Path | None, reproduce: str | None, *, calibrate: bool) -> None:
    """Raises BadParameter: options exclude each other."""
    if against is not None and (reproduce is not None or calibrate):
        raise typer.BadParameter("only figures can be compared, not claims or thresholds", param_hint="--against")
    if report is not None and reproduce is not None:
        raise typer.BadParameter("a report contains no claims; use --json for these", param_hint="--report")
