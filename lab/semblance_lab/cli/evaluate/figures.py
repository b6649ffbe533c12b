"""`semblance evaluate`: figures of data sets, typical scores, and distance from float32."""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import timedelta

from rich.console import Console

from semblance.models.errors import NotExplainable
from semblance.models.judgments.pairs import GradedPairs
from semblance.service.cli.toolbox.console import loop_bars, print_line, print_table
from semblance.service.cli.toolbox.outputs import save_json
from semblance.service.model_loading.device import load_model
from semblance.service.settings import read_settings
from semblance_lab.cli.evaluate.data_sets import read_task
from semblance_lab.cli.evaluate.options import EvaluationOptions
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
from semblance_lab.evaluation.scorer import LocalScorer
from semblance_lab.evaluation.typical_scores import GRADES, typical_scores

FLOAT32 = {"runtime": "torch", "precision": "float32", "device": "cpu"}


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
