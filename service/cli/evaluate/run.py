"""What `semblance evaluate` does once its options are read."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table as Grid

from models.catalogue import similarity
from models.errors import BadDataSet
from models.evaluation.evaluate import Plan, evaluate
from models.evaluation.kinds.deletion import deletion
from models.evaluation.matching import Calibration, calibration
from models.evaluation.report import write_json, write_report
from models.evaluation.report_tables import Table, calibration_table, curve, tables
from models.evaluation.reproductions import claims, papers, tally
from models.evaluation.scorer import LocalScorer, Scorer, Track
from models.evaluation.tasks import GradedPairs, LabelledPairs, Task
from service.cli.evaluate.bench import Bench
from service.cli.evaluate.remote_scorer import RemoteScorer
from service.cli.evaluate.sets import read_task
from service.cli.progress import bars
from service.client import Client
from service.devices import load_only
from service.settings import client_key, read_settings

WIDE = 240  # characters of a line in a file


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the verb."""

    model: str | None
    url: str | None
    measures: Sequence[str]
    sets: Sequence[str]
    data: Path | None
    plan: Plan
    json: Path | None
    report: Path | None
    deletion: bool


def run(asked: Asked) -> None:
    """Evaluate, print tables, and write what was asked for.

    Raises:
        SemblanceError: a set, a measure, a model or a file will not do.
        ServiceError: the running service will not do.
    """
    tasks = _tasks(asked)
    console = Console(stderr=True)
    with bars(console) as track, _scorer(asked, track) as scorer:
        evaluation = evaluate(tasks, scorer, asked.measures, asked.plan)
    for table in tables(evaluation):
        _show(table)
    if asked.json:
        write_json(evaluation, asked.json)
    if asked.report:
        console.print(f"report: {write_report(evaluation, asked.report)}", markup=False)


def reproduce(paper: str, asked: Asked) -> None:
    """Put the claims of a paper, or of `all`, to the data.

    Raises:
        SemblanceError: there is no such paper, or a set or model that a claim needs is missing.
    """
    chosen = papers() if paper == "all" else (paper,)
    with bars(Console(stderr=True)) as track:
        bench = Bench(asked.data, asked.plan, track)
        found = {name: list(claims(name, bench)) for name in chosen}
    for name, each in found.items():
        rows = tuple((c.where, c.says, c.protocol, c.ours, c.tolerance, c.verdict) for c in each)
        counts = ", ".join(f"{count} {verdict}" for verdict, count in tally(each).items())
        _show(Table(f"{name}: {counts}", ("where", "claim", "protocol here", "ours", "tolerance", "verdict"), rows))
    if asked.json:
        _write(asked.json, {name: [asdict(claim) for claim in each] for name, each in found.items()})


def calibrate(asked: Asked) -> None:
    """Precision and recall by threshold, for each measure on each set of labelled pairs.

    Raises:
        SemblanceError, ServiceError: as `run`; and a set whose pairs have no labels.
    """
    found: dict[str, dict[str, Calibration]] = {}
    with bars(Console(stderr=True)) as track, _scorer(asked, track) as scorer:
        for name, task in _tasks(asked).items():
            if not isinstance(task, LabelledPairs):
                raise BadDataSet(f"{name} has no labels to choose a threshold by: name sets of labelled pairs")
            scores = scorer.scores(asked.measures, task.left, task.right)
            matches = np.asarray(task.matches, np.bool_)
            found[name] = {measure: calibration(each, matches) for measure, each in scores.items()}
    for name, each in found.items():
        for measure, calibrated in each.items():
            _show(calibration_table(f"{name}, {measure}", calibrated))
    if asked.json:
        _write(asked.json, {name: {m: curve(c) for m, c in each.items()} for name, each in found.items()})


@contextmanager
def _scorer(asked: Asked, track: Track) -> Iterator[Scorer]:
    """What gives the scores: a running service where there is a `url`, else a model in this process."""
    if asked.url is None:
        yield LocalScorer(load_only(read_settings(models=asked.model)), track)
    else:
        with Client(asked.url, client_key()) as client:
            yield RemoteScorer(client, asked.model, track)


def _tasks(asked: Asked) -> dict[str, Task]:
    for measure in asked.measures:
        similarity(measure)  # an unknown name fails before any work is done
    tasks = {name: read_task(name, asked.data) for name in asked.sets}
    if asked.deletion:
        graded = {name: task for name, task in tasks.items() if isinstance(task, GradedPairs)}
        tasks |= {f"{name}_deletion": deletion(task) for name, task in graded.items()}
    return tasks


def _show(table: Table) -> None:
    """Print a table to standard output: as wide as it is where that goes to a file."""
    console = Console() if sys.stdout.isatty() else Console(width=WIDE)
    grid = Grid(title=table.title, title_justify="left", title_style="bold")
    for name in table.header:
        grid.add_column(name, overflow="fold")
    for row in table.rows:
        grid.add_row(*row)
    console.print(grid)


def _write(file: Path, content: Mapping[str, object]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
