"""`semblance evaluate --reproduce`: the claims of a paper, with verdicts."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from semblance.models.errors import BadDataSet, UnknownName
from semblance.models.judgments.bootstrap import Resampling
from semblance.models.protocols import Encoder, Track
from semblance.service.cli.toolbox.console import TextTable, loop_bars, print_table
from semblance.service.cli.toolbox.outputs import save_json
from semblance.service.model_loading.device import load_source
from semblance.service.settings import read_settings
from semblance_lab.cli.evaluate.data_sets import read_task
from semblance_lab.cli.evaluate.options import EvaluationOptions
from semblance_lab.evaluation.reproductions import claims, count_verdicts, papers
from semblance_lab.evaluation.scorer import LocalScorer
from semblance_lab.evaluation.tasks import Task

T = TypeVar("T", bound=Task)


def print_claims(paper: str, options: EvaluationOptions) -> None:
    """Test the claims of a paper, or of `all`, and print the verdicts.

    Raises:
        SemblanceError: the paper is unknown, or a set or model that a claim needs is missing.
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
