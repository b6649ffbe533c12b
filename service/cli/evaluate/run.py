"""What `semblance evaluate` does once its options are read."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from semblance.models.catalogue import similarity
from semblance.models.errors import BadDataSet, NotExplainable, UnknownName
from semblance.models.evaluation.calibration import Calibration, calibration
from semblance.models.evaluation.evaluation import evaluate
from semblance.models.evaluation.metrics.deletion import deletion
from semblance.models.evaluation.reporting.report import write_json, write_report
from semblance.models.evaluation.reporting.tables import TextTable, calibration_table, curve, tables
from semblance.models.evaluation.reproductions import claims, papers, tally
from semblance.models.evaluation.scorer import LocalScorer, Scorer, Track
from semblance.models.evaluation.statistics.bootstrap import Resampling
from semblance.models.evaluation.tasks import GradedPairs, LabelledPairs, Task
from semblance.service.cli.evaluate.bench import Bench
from semblance.service.cli.evaluate.remote_scorer import RemoteScorer
from semblance.service.cli.evaluate.sets import read_task
from semblance.service.cli.progress import bars
from semblance.service.cli.tables import show
from semblance.service.client import Client
from semblance.service.model_loading.device import load_asked, load_default
from semblance.service.settings import client_key, read_settings


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the verb."""

    model: str | None
    url: str | None
    measures: Sequence[str]
    sets: Sequence[str]
    data: Path | None
    resampling: Resampling
    json: Path | None
    report: Path | None
    deletion: bool
    against: str | None = None

    @property
    def baseline(self) -> str | None:
        """The measure that the others are compared with: the first, where there are others."""
        return self.measures[0] if len(self.measures) > 1 else None


def tabulate(asked: Asked) -> None:
    """Evaluate, print tables, and write what was asked for.

    Raises:
        SemblanceError: a set, a measure, a model or a file will not do.
        ServiceError: the running service will not do.
    """
    tasks = _tasks(asked)
    console = Console(stderr=True)
    with bars(console) as track, _scorer(asked, track) as scorer:
        baseline = asked.baseline if asked.against is None else _scorer_of(asked.against, track)
        evaluation = evaluate(tasks, scorer, asked.measures, asked.resampling, baseline)
    if not evaluation.outcomes:
        raise NotExplainable(f"no set was put to any of {', '.join(asked.measures)}: they do not explain their scores")
    for table in tables(evaluation):
        show(table)
    if asked.json:
        write_json(asdict(evaluation), asked.json)
    if asked.report:
        console.print(f"report: {write_report(evaluation, asked.report)}", markup=False)


def reproduce(paper: str, asked: Asked) -> None:
    """Put the claims of a paper, or of `all`, to the data.

    Raises:
        SemblanceError: there is no such paper, or a set or model that a claim needs is missing.
    """
    if paper not in (*papers(), "all"):
        raise UnknownName("papers", paper, (*papers(), "all"))
    chosen = papers() if paper == "all" else (paper,)
    with bars(Console(stderr=True)) as track:
        bench = Bench(asked.data, asked.resampling, track)
        found = {name: list(claims(name, bench)) for name in chosen}
    for name, each in found.items():
        rows = tuple((c.where, c.says, c.protocol, c.ours, c.tolerance, c.verdict) for c in each)
        counts = ", ".join(f"{count} {verdict}" for verdict, count in tally(each).items())
        show(TextTable(f"{name}: {counts}", ("where", "claim", "protocol here", "ours", "tolerance", "verdict"), rows))
    if asked.json:
        write_json({name: [asdict(claim) for claim in each] for name, each in found.items()}, asked.json)


def calibrate(asked: Asked) -> None:
    """Precision and recall by threshold, for each measure on each set of labelled pairs.

    Raises:
        SemblanceError, ServiceError: as `tabulate`; and a set whose pairs have no labels.
    """
    found: dict[str, dict[str, Calibration]] = {}
    with bars(Console(stderr=True)) as track, _scorer(asked, track) as scorer:
        for name, task in _tasks(asked).items():
            if not isinstance(task, LabelledPairs):
                raise BadDataSet(f"{name} has no labels to choose a threshold by: name others, such as turl_train")
            scores = scorer.scores(asked.measures, task.left, task.right)
            matches = np.asarray(task.matches, np.bool_)
            found[name] = {measure: calibration(each, matches) for measure, each in scores.items()}
    for name, each in found.items():
        for measure, calibrated in each.items():
            show(calibration_table(f"{name}, {measure}", calibrated))
    if asked.json:
        write_json({name: {m: curve(c) for m, c in each.items()} for name, each in found.items()}, asked.json)


@contextmanager
def _scorer(asked: Asked, track: Track) -> Iterator[Scorer]:
    """What gives the scores: a running service where there is a `url`, else a model in this process."""
    if asked.url is None:
        settings = read_settings()
        model = load_default(settings) if asked.model is None else load_asked(asked.model, settings)
        yield LocalScorer(model, track)
    else:
        # so that the collections of retrieval sets are deleted then too
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
        with Client(asked.url, client_key()) as client:
            yield RemoteScorer(client, asked.model, track)


def _scorer_of(model: str, track: Track) -> Scorer:
    return LocalScorer(load_asked(model, read_settings()), track)


def _tasks(asked: Asked) -> dict[str, Task]:
    for name in asked.measures:
        similarity(name)  # an unknown name fails before any work is done
    tasks = {name: read_task(name, asked.data) for name in asked.sets}
    if asked.deletion:
        graded = {name: task for name, task in tasks.items() if isinstance(task, GradedPairs)}
        tasks |= {f"{name}_deletion": deletion(task) for name, task in graded.items()}
    return tasks
