"""`semblance evaluate`: agreement of scores and explanations with human judgments."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from semblance_client import SemblanceError as ServiceError

from semblance.models.errors import BadDataSet, NotExplainable, SemblanceError, UnknownName
from semblance.models.judgments.bootstrap import Resampling
from semblance.models.judgments.pairs import GradedPairs
from semblance.models.protocols import Encoder, Track
from semblance.service.cli.toolbox.console import TextTable, loop_bars, print_line, print_table
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
from semblance.service.cli.toolbox.outputs import save_json
from semblance.service.model_loading.device import load_model, load_source
from semblance.service.settings import read_settings
from semblance_lab.cli.evaluate.data_sets import read_task
from semblance_lab.cli.evaluate.options import EvaluationOptions
from semblance_lab.cli.evaluate.reliability import print_reliability
from semblance_lab.evaluation.acceptance import (
    MEASURES,
    Condition,
    batch_conditions,
    conditions_table,
    quality_conditions,
)
from semblance_lab.evaluation.evaluation import STS_SETS
from semblance_lab.evaluation.evaluation import evaluate as evaluate_tasks
from semblance_lab.evaluation.reporting.tables import tables, typical_table
from semblance_lab.evaluation.reproductions import claims, count_verdicts, papers
from semblance_lab.evaluation.scorer import LocalScorer
from semblance_lab.evaluation.tasks import Task
from semblance_lab.evaluation.typical_scores import GRADES, typical_scores

SETS = "sts12,sts13,sts14,sts15,sts16,stsb,sickr,ists_images"
DEFAULT_MEASURES = "cosine,rcmd,dynamax_jaccard"
FLOAT32 = {"runtime": "torch", "precision": "float32", "device": "cpu"}

T = TypeVar("T", bound=Task)


def evaluate(  # noqa: PLR0913 - one parameter an option
    *,
    model: Annotated[
        str | None,
        typer.Option(
            help="Model, as for `semblance serve` or only its source; with --url, a model served there.",
            show_default="the first of SEMBLANCE_MODELS, or the default of the service",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Second model, as --model without --url: figures are compared with its own on one resampling."
        ),
    ] = None,
    measure: Annotated[
        list[str],
        typer.Option(
            help="Measures, comma-separated; others are compared with the first, unless --against is given. A search "
            "of --url may have a mode: lexical:cosine, hybrid:rcmd1."
        ),
    ] = [DEFAULT_MEASURES],  # noqa: B006 - Typer copies it
    sets: Annotated[
        list[str],
        typer.Option(help="Data sets, comma-separated; KIND:PATH for your own file, panel for sets of many domains."),
    ] = [SETS],  # noqa: B006
    columns: Columns = [],  # noqa: B006
    data: Data = None,
    url: Annotated[str | None, typer.Option(help="Evaluate the service running at this address.")] = None,
    json: JsonFile = None,
    report: ReportFolder = None,
    reproduce: Annotated[
        str | None, typer.Option(metavar="PAPER", help="Test the claims of a paper instead: its name, or all.")
    ] = None,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Print precision and recall by threshold, and how reliable probabilities are, for sets of labeled "
            "pairs instead.",
        ),
    ] = False,
    same_from: SameFrom = None,
    conditions: Annotated[
        bool,
        typer.Option(
            "--conditions",
            help="Print how far the configured runtime and precision are from float32 (docs/performance.md).",
        ),
    ] = False,
    typical: Annotated[
        bool,
        typer.Option("--typical", help="Print typical scores of random, related and paraphrase pairs instead."),
    ] = False,
    deletion: Annotated[
        bool, typer.Option("--deletion", help="Also test explanations by deleting words of graded pairs.")
    ] = False,
    draws: Resamples = 2_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the resampling.")] = 1111,
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
    if against is not None and (reproduce is not None or calibrate):
        raise typer.BadParameter("only figures can be compared, not claims or thresholds", param_hint="--against")
    if report is not None and reproduce is not None:
        raise typer.BadParameter("a report contains no claims; use --json for these", param_hint="--report")
    measures, names = require_entries(measure, "--measure"), require_entries(sets, "--sets")
    options = EvaluationOptions(
        model, url, measures, names, columns, data, Resampling(draws, seed), json, report, deletion, against, same_from
    )
    with exit_on(SemblanceError, ServiceError):
        if conditions:
            sys.exit(0 if all(condition.holds for condition in print_conditions(options)) else 1)
        if reproduce is not None:
            print_claims(reproduce, options)
        elif calibrate:
            print_reliability(options)
        elif typical:
            print_typical_scores(options)
        else:
            print_evaluation(options)


def print_evaluation(options: EvaluationOptions) -> None:
    """Evaluate, print tables, and write the requested files.

    Raises:
        SemblanceError: a set, a measure, a model or a file is invalid.
        ServiceError: the running service rejected a request.
    """
    start = time.monotonic()
    tasks = options.tasks()
    console = Console(stderr=True)
    with loop_bars(console) as track, options.scorer(track) as scorer:
        against = options.against
        baseline = options.baseline if against is None else LocalScorer(load_model(against, read_settings()), track)
        evaluation = evaluate_tasks(tasks, scorer, options.measures, options.resampling, baseline)
    if not evaluation.outcomes:
        names = ", ".join(options.measures)
        raise NotExplainable(f"nothing to evaluate: {names} do not explain their scores, which these sets require")
    for table in tables(evaluation):
        print_table(table)
    print_line(console, f"evaluated {len(tasks)} sets in {timedelta(seconds=round(time.monotonic() - start))}")
    if options.json:
        save_json(asdict(evaluation), options.json)
    if options.report:
        from semblance_lab.evaluation.reporting.report import write_report  # noqa: PLC0415 - imports matplotlib, which few runs need

        console.print(f"report: {write_report(evaluation, options.report)}", markup=False)


def print_claims(paper: str, options: EvaluationOptions) -> None:
    """Test the claims of a paper, or of `all`, and print the verdicts.

    Raises:
        SemblanceError: there is no such paper, or a set or model that a claim needs is missing.
    """
    if paper not in (*papers(), "all"):
        raise UnknownName("papers", paper, (*papers(), "all"))
    chosen = papers() if paper == "all" else (paper,)
    with loop_bars(Console(stderr=True)) as track:
        context = CachedInputs(options.data, options.resampling, track)
        results = {name: list(claims(name, context)) for name in chosen}
    for name, each in results.items():
        rows = tuple((c.where, c.says, c.protocol, c.ours, c.tolerance, c.verdict) for c in each)
        counts = ", ".join(f"{count} {verdict}" for verdict, count in count_verdicts(each).items())
        header = ("where", "claim", "protocol here", "ours", "tolerance", "verdict")
        print_table(TextTable(f"{name}: {counts}", header, rows))
    if options.json:
        save_json({name: [asdict(claim) for claim in result] for name, result in results.items()}, options.json)


class CachedInputs:
    """Data sets and models for reproductions, each loaded once."""

    def __init__(self, data: Path | None, resampling: Resampling, track: Track) -> None:
        self.resampling = resampling
        self._data = data
        self._track = track
        self._tasks: dict[str, Task] = {}
        self._encoders: dict[str, Encoder] = {}

    def task(self, name: str, kind: type[T]) -> T:
        """A data set by its name. Raises BadDataSet."""
        if name not in self._tasks:
            self._tasks[name] = read_task(name, self._data)
        task = self._tasks[name]
        if not isinstance(task, kind):
            raise BadDataSet(f"{name} is not a set of {kind.__name__}")
        return task

    def encoder(self, model: str) -> Encoder:
        """The model of a source as in SEMBLANCE_MODELS, with `{data}` for the folder of data."""
        if model not in self._encoders:
            self._encoders[model] = load_source(model.format(data=self._data), read_settings())
        return self._encoders[model]

    def scorer(self, model: str) -> LocalScorer:
        """A scorer of that model."""
        return LocalScorer(self.encoder(model), self._track)


def print_typical_scores(options: EvaluationOptions) -> None:
    """Print the range of the scores of random, related and paraphrase pairs, for each measure.

    Raises:
        SemblanceError, ServiceError: as `print_evaluation`; the sets are fixed, whatever `sets` names.
    """
    tasks = {name: read_task(name, options.data) for name in GRADES}
    with loop_bars(Console(stderr=True)) as track, options.scorer(track) as scorer:
        scores = list(typical_scores(tasks, scorer, options.measures))
        model = scorer.about()["model"]
    print_table(typical_table(model, scores))
    if options.json:
        save_json({"model": model, "scores": [asdict(score) for score in scores]}, options.json)


def print_conditions(options: EvaluationOptions) -> list[Condition]:
    """Print how far the configured runtime and precision are from float32, with verdicts.

    Raises:
        SemblanceError: a set or the model is invalid.
    """
    settings = read_settings()
    served, exact = (options.encoder(each) for each in (settings, settings.model_copy(update=FLOAT32)))
    tasks = {name: read_task(name, options.data) for name in STS_SETS}
    texts = [text for task in tasks.values() if isinstance(task, GradedPairs) for text in task.left]
    with loop_bars(Console(stderr=True)) as track:
        scorer = LocalScorer(served, track)
        evaluation = evaluate_tasks(tasks, scorer, MEASURES, options.resampling, LocalScorer(exact, track))
        conditions = quality_conditions(evaluation) + batch_conditions(served, texts, track)
    print_table(conditions_table(conditions, scorer.about()))
    return conditions
