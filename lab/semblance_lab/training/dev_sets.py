"""Evaluate the encoder on the dev sets of a run, exactly as it would be saved and served."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from safetensors import SafetensorError
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator

from semblance.models.formats.transformer_folder import TransformerFolder
from semblance.models.model_files.source import Source
from semblance.models.runtime import Compute
from semblance_lab.evaluation.metrics import compute_metrics
from semblance_lab.evaluation.scorer import LocalScorer
from semblance_lab.evaluation.tasks import Task
from semblance_lab.training.errors import BadRecipe, CheckpointNotSaved
from semblance_lab.training.sentence_model import merge_adapters

T = TypeVar("T")

MEAN = "dev"  # name of the figure that selects the best checkpoint


class DevSets(BaseEvaluator):
    """The first figure of every dev set by one measure, and their mean, for the current weights.

    The encoder is saved and loaded as it would be served, so the figures are those of the served model.

    Args:
        tasks: the sets by name.
        measure: name of the measure.
        folder: parent of the temporary model folder.
        share: part of the trained adapters that would be saved.

    Raises:
        CheckpointNotSaved: the temporary model could not be written.
        BadRecipe: the measure cannot evaluate a set.
    """

    def __init__(self, tasks: Mapping[str, Task], measure: str, folder: Path, share: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.primary_metric = MEAN
        self._tasks = tasks
        self._measure = measure
        self._folder = folder
        self._share = share

    def __call__(  # type: ignore[override]  # only SentenceTransformer, of all the library's model classes
        self, model: SentenceTransformer, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        """Set -> figure, and `dev` -> their mean. The trainer's other arguments are ignored."""
        del output_path, epoch, steps
        try:
            with tempfile.TemporaryDirectory(dir=self._folder) as folder:
                merge_adapters(model, self._share).save_pretrained(folder, create_model_card=False)
                compute = Compute(str(model.device), runtime="torch")
                encoder = TransformerFolder().read(Source(Path(folder))).load("now", compute)
        except (OSError, SafetensorError) as error:
            raise CheckpointNotSaved(f"no model could be written to {self._folder}: {error}") from error
        scorer = LocalScorer(encoder, _untracked)
        figures = {name: self._figure(task, scorer) for name, task in self._tasks.items()}
        return {**figures, MEAN: sum(figures.values()) / len(figures)}

    def _figure(self, task: Task, scorer: LocalScorer) -> float:
        metrics = compute_metrics(task, scorer, [self._measure])
        if self._measure not in metrics:
            raise BadRecipe(
                f"the measure {self._measure} cannot explain its scores, as dev sets of chunks require: choose another"
            )
        return metrics[self._measure].metrics[0].value()


def _untracked(items: Sequence[T], what: str) -> Sequence[T]:
    del what
    return items
