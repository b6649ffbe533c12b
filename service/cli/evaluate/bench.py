"""What reproductions of papers work with: sets and models, each read once."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from semblance.models.errors import BadDataSet
from semblance.models.evaluation.scorer import LocalScorer, Track
from semblance.models.evaluation.statistics.bootstrap import Resampling
from semblance.models.evaluation.tasks import Task
from semblance.models.protocols import Encoder
from semblance.service.cli.evaluate.sets import read_task
from semblance.service.model_loading.device import load_source
from semblance.service.settings import read_settings

T = TypeVar("T", bound=Task)


class Bench:
    """Sets and models for reproductions."""

    def __init__(self, data: Path | None, resampling: Resampling, track: Track) -> None:
        self.resampling = resampling
        self._data = data
        self._track = track
        self._tasks: dict[str, Task] = {}
        self._encoders: dict[str, Encoder] = {}

    def task(self, name: str, kind: type[T]) -> T:
        """A set by its name. Raises BadDataSet."""
        if name not in self._tasks:
            self._tasks[name] = read_task(name, self._data)
        found = self._tasks[name]
        if not isinstance(found, kind):
            raise BadDataSet(f"{name} is no set of {kind.__name__}")
        return found

    def encoder(self, model: str) -> Encoder:
        """The model of a source, as SEMBLANCE_MODELS takes it; `{data}` in it stands for the folder of data."""
        if model not in self._encoders:
            self._encoders[model] = load_source(model.format(data=self._data), read_settings())
        return self._encoders[model]

    def scorer(self, model: str) -> LocalScorer:
        """That model as what gives scores."""
        return LocalScorer(self.encoder(model), self._track)
